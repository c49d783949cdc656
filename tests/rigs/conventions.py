"""The rigs of the bank: how programs, suits and data sets name and hang the bones of a human."""

from __future__ import annotations

from tests.rigs.bank import Rig, fingers, rows_of

HUMAN_IK = """
    Hips=hips, Spine=back.15, Spine1=back.45, Spine2=back.75, Neck=neck, Head=head
    Spine2 > LeftShoulder=collar, LeftArm=arm, LeftForeArm=elbow, LeftHand=wrist
    Hips > LeftUpLeg=thigh, LeftLeg=knee, LeftFoot=ankle, LeftToeBase=ball
"""
HUMAN_IK_FINGERS = fingers("LeftHand > LeftHand{finger}{n}", count=4)
UNREAL_ARM = """
    {chest} > clavicle_l=collar, upperarm_l=arm, lowerarm_l=elbow, hand_l=wrist
    upperarm_l > upperarm_twist_01_l=~arm.5
    lowerarm_l > lowerarm_twist_01_l=~elbow.6
    pelvis > thigh_l=thigh, calf_l=knee, foot_l=ankle, ball_l=ball
    thigh_l > thigh_twist_01_l=~thigh.5
    calf_l > calf_twist_01_l=~knee.5
"""
UNREAL_IK = """
    root > ik_foot_root=~floor, ik_foot_l=~ankle
    root > ik_hand_root=~floor, ik_hand_gun=~floor@-.7,1.4,0, ik_hand_l=~wrist
"""
UNREAL_FINGERS = fingers("hand_l > {finger}_0{n}_l", "thumb index middle ring pinky")
BIPED = """
    Bip01=~hips, Bip01 Pelvis=hips, Bip01 Spine=back.1, Bip01 Spine1=back.4, Bip01 Spine2=back.7, Bip01 Neck=neck,
        Bip01 Head=head, Bip01 HeadNub=top
    Bip01 Spine2 > Bip01 L Clavicle=collar, Bip01 L UpperArm=arm, Bip01 L Forearm=elbow, Bip01 L Hand=wrist
    Bip01 Pelvis > Bip01 L Thigh=thigh, Bip01 L Calf=knee, Bip01 L Foot=ankle, Bip01 L Toe0=ball, Bip01 L Toe0Nub=toe
"""
BIPED_FINGERS = """
    Bip01 L Hand > Bip01 L Finger0=thumb1, Bip01 L Finger01=thumb2, Bip01 L Finger02=thumb3, Bip01 L Finger0Nub=thumb4
    Bip01 L Hand > Bip01 L Finger1=index1, Bip01 L Finger11=index2, Bip01 L Finger12=index3, Bip01 L Finger1Nub=index4
    Bip01 L Hand > Bip01 L Finger2=middle1, Bip01 L Finger21=middle2, Bip01 L Finger22=middle3
"""
SMPL = """
    Pelvis=hips, Spine1=back.2, Spine2=back.45, Spine3=back.6, Neck=neck, Head=head
    Spine3 > L_Collar=collar, L_Shoulder=arm, L_Elbow=elbow, L_Wrist=wrist
    Pelvis > L_Hip=thigh, L_Knee=knee, L_Ankle=ankle, L_Foot=ball
"""
SMPL_LOWER = """
    pelvis=hips, spine1=back.2, spine2=back.45, spine3=back.6, neck=neck, head=head
    spine3 > left_collar=collar, left_shoulder=arm, left_elbow=elbow, left_wrist=wrist
    pelvis > left_hip=thigh, left_knee=knee, left_ankle=ankle, left_foot=ball
"""
CC_BASE = """
    RL_BoneRoot=floor, CC_Base_Hip=hips, CC_Base_Waist=back.15, CC_Base_Spine01=back.35, CC_Base_Spine02=back.65,
        CC_Base_NeckTwist01=neck, CC_Base_NeckTwist02=~neck.5, CC_Base_Head=head
    CC_Base_Hip > CC_Base_Pelvis=~hips, CC_Base_L_Thigh=thigh, CC_Base_L_Calf=knee, CC_Base_L_Foot=ankle,
        CC_Base_L_ToeBase=ball
    CC_Base_Spine02 > CC_Base_L_Clavicle=collar, CC_Base_L_Upperarm=arm, CC_Base_L_Forearm=elbow, CC_Base_L_Hand=wrist
    CC_Base_L_Thigh > CC_Base_L_ThighTwist01=~thigh.1, CC_Base_L_ThighTwist02=~thigh.5
    CC_Base_L_Thigh > CC_Base_L_KneeShareBone=~knee
    CC_Base_L_Calf > CC_Base_L_CalfTwist01=~knee.1, CC_Base_L_CalfTwist02=~knee.5
    CC_Base_L_Foot > CC_Base_L_ToeBaseShareBone=~ball
    CC_Base_L_Upperarm > CC_Base_L_UpperarmTwist01=~arm.1, CC_Base_L_UpperarmTwist02=~arm.5
    CC_Base_L_Upperarm > CC_Base_L_ElbowShareBone=~elbow
    CC_Base_L_Forearm > CC_Base_L_ForearmTwist01=~elbow.1, CC_Base_L_ForearmTwist02=~elbow.5
"""
CC_FACE = """
    CC_Base_Head > CC_Base_FacialBone=~head, CC_Base_JawRoot=jaw, CC_Base_Tongue01=chin
    CC_Base_FacialBone > CC_Base_L_Eye=eye
    CC_Base_FacialBone > CC_Base_UpperJaw=nose, CC_Base_Teeth01=~nose@0,-.03,0
    CC_Base_Spine02 > CC_Base_L_Breast=breast
    CC_Base_Spine02 > CC_Base_L_RibsTwist=~breast@0,-.1,-.1
"""
CC_FINGERS = fingers("CC_Base_L_Hand > CC_Base_L_{finger}{n}", "Thumb Index Mid Ring Pinky")
MMD_SPINE = "上半身=back.1, 上半身2=back.55, 首=neck, 頭=head"
MMD_ARM = """
    上半身2 > 左肩=collar, 左腕=arm, 左ひじ=elbow, 左手首=wrist
    左手首 > 左親指０=thumb1, 左親指１=thumb2, 左親指２=thumb3
    左手首 > 左人指１=index1, 左人指２=index2, 左人指３=index3
    左手首 > 左中指１=middle1, 左中指２=middle2, 左中指３=middle3
    頭 > 左目=eye
    頭 > 両目=~nose@0,.2,0
"""
RIGIFY_FACE = """
    {head} > DEF-forehead.L=brow
    {head} > DEF-temple.L=ear
    {head} > DEF-jaw=jaw, DEF-chin=chin
    {head} > DEF-nose=nose, DEF-nose.001=~nose@0,-.02,.02, DEF-nose.002=~nose@0,-.05,0
    {head} > DEF-cheek.T.L=cheek
    {head} > DEF-lid.T.L=eye, DEF-lid.T.L.001=~eye@.01,.0,.01
    {head} > DEF-lip.T.L=lip
    {head} > DEF-ear.L=~ear
"""
RIGIFY_LIMBS = """
    {back} > DEF-shoulder.L=collar
    {shoulder} > DEF-upper_arm.L=arm, DEF-upper_arm.L.001=~arm.5, DEF-forearm.L=elbow, DEF-forearm.L.001=~elbow.5,
        DEF-hand.L=wrist
    {hips} > DEF-thigh.L=thigh, DEF-thigh.L.001=~thigh.5, DEF-shin.L=knee, DEF-shin.L.001=~knee.5, DEF-foot.L=ankle,
        DEF-toe.L=ball
    {hips} > DEF-pelvis.L=~thigh@.04,.1,.05
    {back} > DEF-breast.L=breast
    DEF-hand.L > DEF-palm.01.L=~wrist.3@0,0,.02, DEF-f_index.01.L=index1, DEF-f_index.02.L=index2,
        DEF-f_index.03.L=index3
    DEF-palm.01.L > DEF-thumb.01.L=thumb1, DEF-thumb.02.L=thumb2, DEF-thumb.03.L=thumb3
    DEF-hand.L > DEF-palm.02.L=~wrist.3, DEF-f_middle.01.L=middle1, DEF-f_middle.02.L=middle2,
        DEF-f_middle.03.L=middle3
    DEF-hand.L > DEF-palm.04.L=~wrist.3@0,0,-.04, DEF-f_pinky.01.L=pinky1, DEF-f_pinky.02.L=pinky2,
        DEF-f_pinky.03.L=pinky3
"""
RIGIFY_SPINE = """
    DEF-spine=hips, DEF-spine.001=back.25, DEF-spine.002=back.5, DEF-spine.003=back.75,
    DEF-spine.004=neck, DEF-spine.005=~neck.5, DEF-spine.006=head"""


def _rigs() -> list[Rig]:
    dot_l, small_l = (r"\.L", ".R"), (r"_l$", "_r")
    return [
        # Game engines and characters for them.
        Rig(name="Mixamo", rows=_prefixed("mixamorig:", HUMAN_IK + HUMAN_IK_FINGERS + "\nHead > HeadTop_End=top")),
        Rig(
            name="Mixamo without prefix",
            rows=HUMAN_IK + HUMAN_IK_FINGERS + "\nHead > HeadTop_End=top\nLeftToeBase > LeftToe_End=toe",
        ),
        Rig(name="Mixamo, seventh of a scene", rows=_prefixed("mixamorig7_", HUMAN_IK), pose="A", frames="random"),
        Rig(
            name="Unreal 4",
            frames="bone",
            sides=small_l,
            pose="A",
            rows="root=floor, pelvis=hips, spine_01=back.2, spine_02=back.45, spine_03=back.7, neck_01=neck, head=head"
            + UNREAL_ARM.format(chest="spine_03")
            + UNREAL_IK
            + UNREAL_FINGERS,
        ),
        Rig(
            name="Unreal 5",
            frames="bone",
            sides=small_l,
            pose="A",
            rows="root=floor, pelvis=hips, spine_01=back.1, spine_02=back.25, spine_03=back.45, spine_04=back.65, "
            "spine_05=back.85, neck_01=neck, neck_02=~neck.5, head=head"
            + UNREAL_ARM.format(chest="spine_05")
            + UNREAL_IK
            + UNREAL_FINGERS
            + "\nroot > interaction=~floor\nroot > center_of_mass=~hips\nupperarm_l > upperarm_twist_02_l=~arm.7",
        ),
        Rig(
            name="Unreal 4 moving, frames at random",
            frames="random",
            sides=small_l,
            moves=True,
            rows="root=floor, pelvis=hips, spine_01=back.2, spine_02=back.45, spine_03=back.7, neck_01=neck, head=head"
            + UNREAL_ARM.format(chest="spine_03")
            + UNREAL_IK,
        ),
        Rig(
            name="MetaHuman",
            frames="bone",
            sides=(r"_l$|_l(?=_)|_L_", lambda m: "_R_" if "L" in m[0] else "_r"),  # type: ignore[arg-type]
            pose="A",
            rows="root=floor, pelvis=hips, spine_01=back.1, spine_02=back.25, spine_03=back.45, spine_04=back.65, "
            "spine_05=back.85, neck_01=neck, neck_02=~neck.5, head=head"
            + UNREAL_ARM.format(chest="spine_05")
            + UNREAL_FINGERS
            + """
            head > FACIAL_C_FacialRoot=~head, FACIAL_C_Jaw=jaw, FACIAL_C_Chin=chin
            FACIAL_C_FacialRoot > FACIAL_C_Nose=nose
            FACIAL_C_FacialRoot > FACIAL_L_Eye=eye
            FACIAL_C_FacialRoot > FACIAL_L_Ear=ear
            FACIAL_C_FacialRoot > FACIAL_C_Forehead=~head@0,.2,.1
            neck_02 > FACIAL_C_Neck2Root=~neck.5, FACIAL_C_AdamsApple=~neck.5@0,0,.08
            upperarm_l > upperarm_correctiveRoot_l=~arm, upperarm_bck_l=~arm@0,0,-.05
            thigh_l > thigh_correctiveRoot_l=~thigh, thigh_fwd_l=~thigh@0,0,.08
            clavicle_l > clavicle_pec_l=breast
            spine_04 > spine_04_latissimus_l=~breast@.03,-.05,-.12
            """,
        ),
        Rig(
            name="Unity humanoid",
            rows="""
            Hips=hips, Spine=back.15, Chest=back.4, UpperChest=back.7, Neck=neck, Head=head
            Head > LeftEye=eye
            Head > Jaw=jaw
            UpperChest > LeftShoulder=collar, LeftUpperArm=arm, LeftLowerArm=elbow, LeftHand=wrist
            Hips > LeftUpperLeg=thigh, LeftLowerLeg=knee, LeftFoot=ankle, LeftToes=ball
            LeftHand > Left Thumb Proximal=thumb1, Left Thumb Intermediate=thumb2, Left Thumb Distal=thumb3
            LeftHand > Left Index Proximal=index1, Left Index Intermediate=index2, Left Index Distal=index3
            """,
        ),
        Rig(
            name="Synty",
            sides=(r"_L$", "_R"),
            frames="bone",
            rows="""
            Root=floor, Hips=hips, Spine_01=back.15, Spine_02=back.4, Spine_03=back.7, Neck=neck, Head=head
            Head > Eyes=~nose@0,.04,-.03
            Head > Eyebrows=~nose@0,.07,-.01
            Spine_03 > Clavicle_L=collar, Shoulder_L=arm, Elbow_L=elbow, Hand_L=wrist
            Hand_L > IndexFinger_01_L=index1, IndexFinger_02_L=index2
            Hand_L > Thumb_01_L=thumb1, Thumb_02_L=thumb2
            Hips > UpperLeg_L=thigh, LowerLeg_L=knee, Ankle_L=ankle, Ball_L=ball, Toes_L=toe
            """,
        ),
        Rig(
            name="VRM",
            sides=(r"left", "right"),
            rows="""
            hips=hips, spine=back.15, chest=back.4, upperChest=back.7, neck=neck, head=head
            head > leftEye=eye
            head > jaw=jaw
            upperChest > leftShoulder=collar, leftUpperArm=arm, leftLowerArm=elbow, leftHand=wrist
            hips > leftUpperLeg=thigh, leftLowerLeg=knee, leftFoot=ankle, leftToes=ball
            leftHand > leftThumbMetacarpal=thumb1, leftThumbProximal=thumb2, leftThumbDistal=thumb3
            leftHand > leftIndexProximal=index1, leftIndexIntermediate=index2, leftIndexDistal=index3
            """,
        ),
        Rig(
            name="VRoid",
            sides=(r"_L_", "_R_"),
            scale={"head": 1.5, "legs": 0.85},
            rows="""
            Root=floor, J_Bip_C_Hips=hips, J_Bip_C_Spine=back.15, J_Bip_C_Chest=back.4, J_Bip_C_UpperChest=back.7,
                J_Bip_C_Neck=neck, J_Bip_C_Head=head
            J_Bip_C_Head > J_Adj_L_FaceEye=eye
            J_Bip_C_Head > J_Sec_Hair1_01=~head@0,.2,-.1, J_Sec_Hair2_01=~head@0,.1,-.15,
                J_Sec_Hair3_01=~head@0,-.2,-.17, J_Sec_Hair3_end=~head@0,-.5,-.17
            J_Bip_C_UpperChest > J_Sec_L_Bust1=breast, J_Sec_L_Bust2=~breast@0,0,.05
            J_Bip_C_UpperChest > J_Bip_L_Shoulder=collar, J_Bip_L_UpperArm=arm, J_Bip_L_LowerArm=elbow,
                J_Bip_L_Hand=wrist
            J_Bip_L_UpperArm > J_Sec_L_TopsUpperArmInside=~arm.3
            J_Bip_L_Hand > J_Bip_L_Thumb1=thumb1, J_Bip_L_Thumb2=thumb2, J_Bip_L_Thumb3=thumb3
            J_Bip_L_Hand > J_Bip_L_Index1=index1, J_Bip_L_Index2=index2, J_Bip_L_Index3=index3
            J_Bip_C_Hips > J_Bip_L_UpperLeg=thigh, J_Bip_L_LowerLeg=knee, J_Bip_L_Foot=ankle, J_Bip_L_ToeBase=ball
            J_Bip_C_Hips > J_Sec_L_SkirtSide0=~thigh@.08,0,0, J_Sec_L_SkirtSide1=~thigh@.1,-.2,0,
                J_Sec_L_SkirtSide2=~thigh@.12,-.4,0
            """,
        ),
        Rig(
            name="Ready Player Me",
            frames="blender",
            pose="A",
            rows=HUMAN_IK
            + HUMAN_IK_FINGERS
            + "\nHead > HeadTop_End=top\nHead > LeftEye=eye\nLeftToeBase > LeftToe_End=toe",
        ),
        Rig(
            name="Roblox R15",
            rows="""
            HumanoidRootPart=~hips@0,.1,0, LowerTorso=hips, UpperTorso=back.3, Head=head
            UpperTorso > LeftUpperArm=arm, LeftLowerArm=elbow, LeftHand=wrist
            LowerTorso > LeftUpperLeg=thigh, LeftLowerLeg=knee, LeftFoot=ankle
            """,
            pose="I",
            scale={"all": 0.8, "legs": 0.8},
        ),
        Rig(
            name="Source engine",
            sides=(r"_L_", "_R_"),
            frames="bone",
            rows="""
            ValveBiped.Bip01_Pelvis=hips, ValveBiped.Bip01_Spine=back.1, ValveBiped.Bip01_Spine1=back.3,
                ValveBiped.Bip01_Spine2=back.5, ValveBiped.Bip01_Spine4=back.8, ValveBiped.Bip01_Neck1=neck,
                ValveBiped.Bip01_Head1=head, ValveBiped.forward=nose
            ValveBiped.Bip01_Spine4 > ValveBiped.Bip01_L_Clavicle=collar, ValveBiped.Bip01_L_UpperArm=arm,
                ValveBiped.Bip01_L_Forearm=elbow, ValveBiped.Bip01_L_Hand=wrist,
                ValveBiped.Anim_Attachment_L_H=~wrist.5
            ValveBiped.Bip01_L_UpperArm > ValveBiped.Bip01_L_Bicep=~arm.5
            ValveBiped.Bip01_L_UpperArm > ValveBiped.Bip01_L_Elbow=~elbow
            ValveBiped.Bip01_L_Clavicle > ValveBiped.Bip01_L_Trapezius=~collar.5@0,.03,-.02
            ValveBiped.Bip01_L_Clavicle > ValveBiped.Bip01_L_Shoulder=~collar.9
            ValveBiped.Bip01_L_Forearm > ValveBiped.Bip01_L_Ulna=~elbow.5
            ValveBiped.Bip01_L_Forearm > ValveBiped.Bip01_L_Wrist=~wrist
            ValveBiped.Bip01_L_Hand > ValveBiped.Bip01_L_Finger0=thumb1, ValveBiped.Bip01_L_Finger01=thumb2,
                ValveBiped.Bip01_L_Finger02=thumb3
            ValveBiped.Bip01_L_Hand > ValveBiped.Bip01_L_Finger1=index1, ValveBiped.Bip01_L_Finger11=index2,
                ValveBiped.Bip01_L_Finger12=index3
            ValveBiped.Bip01_Pelvis > ValveBiped.Bip01_L_Thigh=thigh, ValveBiped.Bip01_L_Calf=knee,
                ValveBiped.Bip01_L_Foot=ankle, ValveBiped.Bip01_L_Toe0=ball
            """,
        ),
        Rig(
            name="Skyrim",
            sides=(r"NPC L (.*)\[L", r"NPC R \1[R"),
            rows="""
            NPC Root [Root]=floor, NPC COM [COM ]=~hips, NPC Spine [Spn0]=back.1, NPC Spine1 [Spn1]=back.4,
                NPC Spine2 [Spn2]=back.7, NPC Neck [Neck]=neck, NPC Head [Head]=head
            NPC COM [COM ] > NPC Pelvis [Pelv]=hips, NPC L Thigh [LThg]=thigh, NPC L Calf [LClf]=knee,
                NPC L Foot [Lft ]=ankle, NPC L Toe0 [LToe]=ball
            NPC Spine2 [Spn2] > NPC L Clavicle [LClv]=collar, NPC L UpperArm [LUar]=arm, NPC L Forearm [LLar]=elbow,
                NPC L Hand [LHnd]=wrist
            NPC L UpperArm [LUar] > NPC L UpperarmTwist1 [LUt1]=~arm.3, NPC L UpperarmTwist2 [LUt2]=~arm.6
            NPC L Forearm [LLar] > NPC L ForearmTwist1 [LLt1]=~elbow.3
            NPC L Hand [LHnd] > NPC L Finger00 [LF00]=thumb1, NPC L Finger01 [LF01]=thumb2
            NPC L Hand [LHnd] > NPC L Finger10 [LF10]=index1, NPC L Finger11 [LF11]=index2
            """,
            # Pelvis and spine hang side by side from the centre of mass, which carries both.
            also={"hips": ("NPC COM [COM ]",)},
        ),
        Rig(
            name="Second Life Bento",
            pose="T",
            rows="""
            mPelvis=hips, mSpine1=back.15, mSpine2=~hips, mTorso=back.16, mSpine3=back.5, mSpine4=back.17,
                mChest=back.55, mNeck=neck, mHead=head, mSkull=top
            mHead > mEyeLeft=eye
            mHead > mFaceRoot=~head, mFaceJaw=jaw, mFaceChin=chin
            mFaceRoot > mFaceNoseCenter=nose
            mFaceRoot > mFaceEar1Left=ear
            mChest > mCollarLeft=collar, mShoulderLeft=arm, mElbowLeft=elbow, mWristLeft=wrist
            mWristLeft > mHandThumb1Left=thumb1, mHandThumb2Left=thumb2, mHandThumb3Left=thumb3
            mWristLeft > mHandIndex1Left=index1, mHandIndex2Left=index2, mHandIndex3Left=index3
            mChest > mWingsRoot=~back.8@0,0,-.1, mWing1Left=~breast@0,.1,-.25, mWing2Left=~breast@.2,.2,-.3,
                mWing3Left=~breast@.5,.2,-.35
            mPelvis > mHipLeft=thigh, mKneeLeft=knee, mAnkleLeft=ankle, mFootLeft=ball, mToeLeft=toe
            mPelvis > mTail1=~hips@0,0,-.15, mTail2=~hips@0,0,-.3, mTail3=~hips@0,0,-.45
            mPelvis > mGroin=~hips@0,-.05,.07
            mPelvis > mHindLimbsRoot=~hips@0,-.02,-.2, mHindLimb1Left=~thigh@0,-.05,-.25,
                mHindLimb2Left=~thigh@0,-.4,-.2, mHindLimb3Left=~thigh@0,-.8,-.3
            """,
        ),
        Rig(
            name="Second Life motions",
            sides=(r"^l", "r"),
            ends=True,
            moves=True,
            rows="""
            hip=hips, abdomen=back.2, chest=back.5, neck=neck, head=head
            chest > lCollar=collar, lShldr=arm, lForeArm=elbow, lHand=wrist
            hip > lThigh=thigh, lShin=knee, lFoot=ankle
            """,
        ),
        # 3D programs.
        Rig(
            name="Rigify metarig",
            sides=dot_l,
            frames="blender",
            pose="A",
            rows="""
            spine=hips, spine.001=back.25, spine.002=back.5, spine.003=back.75, spine.004=neck, spine.005=~neck.5,
                spine.006=head
            spine.006 > face=~head, nose=nose, nose.001=~nose@0,-.02,.02
            face > jaw=jaw, chin=chin
            face > eye.L=eye
            face > ear.L=ear
            spine.003 > shoulder.L=collar, upper_arm.L=arm, forearm.L=elbow, hand.L=wrist
            spine > thigh.L=thigh, shin.L=knee, foot.L=ankle, toe.L=ball
            foot.L > heel.02.L=heel
            spine > pelvis.L=~thigh@.04,.1,.05
            spine.003 > breast.L=breast
            """,
        ),
        Rig(
            name="Rigify deform bones",
            sides=dot_l,
            frames="blender",
            pose="A",
            rows=RIGIFY_SPINE
            + RIGIFY_LIMBS.format(back="DEF-spine.003", shoulder="DEF-shoulder.L", hips="DEF-spine")
            + RIGIFY_FACE.format(head="DEF-spine.006"),
        ),
        Rig(
            name="Rigify deform bones on the rig",
            sides=dot_l,
            frames="blender",
            pose="A",
            rows="rig=floor, "
            + RIGIFY_SPINE
            + RIGIFY_LIMBS.format(back="DEF-spine.003", shoulder="DEF-shoulder.L", hips="DEF-spine")
            + RIGIFY_FACE.format(head="DEF-spine.006"),
        ),
        Rig(
            name="Rigify deform bones, limbs apart",
            sides=dot_l,
            frames="blender",
            pose="A",
            # As Blender exports deform bones alone: what hangs from bones that are left out hangs from the rig.
            rows="rig=floor,"
            + RIGIFY_SPINE
            + RIGIFY_LIMBS.format(back="rig", shoulder="rig", hips="rig")
            + RIGIFY_FACE.format(head="rig"),
        ),
        Rig(
            name="Auto-Rig Pro",
            sides=(r"\.l$", ".r"),
            frames="blender",
            pose="A",
            rows="""
            root.x=hips, spine_01.x=back.2, spine_02.x=back.5, spine_03.x=back.75, neck.x=neck, head.x=head
            spine_03.x > shoulder.l=collar, arm_stretch.l=arm, forearm_stretch.l=elbow, hand.l=wrist
            arm_stretch.l > arm_twist.l=~arm
            forearm_stretch.l > forearm_twist.l=~elbow.5
            root.x > thigh_stretch.l=thigh, leg_stretch.l=knee, foot.l=ankle, toes_01.l=ball
            thigh_stretch.l > thigh_twist.l=~thigh
            leg_stretch.l > leg_twist.l=~knee.5
            head.x > jawbone.x=jaw
            hand.l > c_index1.l=index1, c_index2.l=index2
            hand.l > c_thumb1.l=thumb1, c_thumb2.l=thumb2
            """,
        ),
        Rig(
            name="HumanIK with rolls",
            frames="bone",
            rows=_prefixed(
                "Character1_",
                "Reference=floor, "
                + HUMAN_IK.strip()
                + """
            LeftArm > LeftArmRoll=~arm.5
            LeftForeArm > LeftForeArmRoll=~elbow.5
            LeftUpLeg > LeftUpLegRoll=~thigh.5
            LeftLeg > LeftLegRoll=~knee.5
            """
                + HUMAN_IK_FINGERS,
            ),
        ),
        Rig(name="MotionBuilder", rows="Reference=floor, " + HUMAN_IK.strip(), moves=True, ends=True),
        Rig(
            name="Maya joints",
            sides=(r"^l_", "r_"),
            frames="bone",
            rows="""
            root_jnt=hips, spine_01_jnt=back.2, spine_02_jnt=back.45, spine_03_jnt=back.7, neck_01_jnt=neck,
                head_jnt=head, headEnd_jnt=top
            head_jnt > jaw_jnt=jaw, jawEnd_jnt=chin
            head_jnt > l_eye_jnt=eye
            spine_03_jnt > l_clavicle_jnt=collar, l_shoulder_jnt=arm, l_elbow_jnt=elbow, l_wrist_jnt=wrist
            l_wrist_jnt > l_thumb_01_jnt=thumb1, l_thumb_02_jnt=thumb2
            l_wrist_jnt > l_index_01_jnt=index1, l_index_02_jnt=index2, l_index_03_jnt=index3
            root_jnt > l_hip_jnt=thigh, l_knee_jnt=knee, l_ankle_jnt=ankle, l_ball_jnt=ball, l_toe_jnt=toe
            """,
        ),
        Rig(
            name="Maya joints, upper case",
            sides=(r"^L_", "R_"),
            frames="random",
            pose="A",
            rows="""
            C_hip_JNT=hips, C_spine01_JNT=back.2, C_spine02_JNT=back.45, C_chest_JNT=back.7, C_neck_JNT=neck,
                C_head_JNT=head
            C_chest_JNT > L_clav_JNT=collar, L_armUpper_JNT=arm, L_armLower_JNT=elbow, L_hand_JNT=wrist
            C_hip_JNT > L_legUpper_JNT=thigh, L_legLower_JNT=knee, L_foot_JNT=ankle, L_toe_JNT=ball
            """,
        ),
        Rig(
            name="Advanced Skeleton",
            sides=(r"_L$", "_R"),
            frames="bone",
            rows="""
            Root_M=hips, RootPart1_M=~hips@0,.05,0, Spine1_M=back.25, Spine1Part1_M=~back.4, Chest_M=back.7,
                Neck_M=neck, NeckPart1_M=~neck.5, Head_M=head, HeadEnd_M=top
            Head_M > Jaw_M=jaw, JawEnd_M=chin
            Head_M > Eye_L=eye
            Chest_M > Scapula_L=collar, Shoulder_L=arm, ShoulderPart1_L=~arm.5, Elbow_L=elbow, ElbowPart1_L=~elbow.5,
                Wrist_L=wrist
            Wrist_L > IndexFinger1_L=index1, IndexFinger2_L=index2, IndexFinger3_L=index3
            Root_M > Hip_L=thigh, HipPart1_L=~thigh.5, Knee_L=knee, Ankle_L=ankle, Toes_L=ball, ToesEnd_L=toe
            """,
        ),
        Rig(
            name="3ds Max Biped",
            rows=BIPED + BIPED_FINGERS + "Bip01 > Bip01 Footsteps=~floor",
            sides=(r" L ", " R "),
            frames="bone",
        ),
        Rig(
            name="3ds Max Biped with underscores",
            sides=(r"_L_", "_R_"),
            frames="bone",
            rows=(BIPED + BIPED_FINGERS)
            .replace("Bip01 ", "Bip001_")
            .replace(" L ", "_L_")
            .replace("Bip01=", "Bip001=")
            .replace("L ", "L_"),
        ),
        Rig(
            name="3ds Max Biped, legs on the spine",
            sides=(r"(?<= )L(?=[ A-Z])", "R"),
            frames="bone",
            rows="""
            Bip01=~hips, Bip01 Pelvis=hips, Bip01 Spine=back.1, Bip01 Spine1=back.4, Bip01 Spine2=back.7,
                Bip01 Neck=neck, Bip01 Head=head
            Bip01 Neck > Bip01 L Clavicle=collar, Bip01 L UpperArm=arm, Bip01 L Forearm=elbow, Bip01 L Hand=wrist
            Bip01 L UpperArm > Bip01 LUpArmTwist=~arm.3
            Bip01 Spine > Bip01 L Thigh=thigh, Bip01 L Calf=knee, Bip01 L Foot=ankle, Bip01 L Toe0=ball
            Bip01 Head > Bip01 Ponytail1=~head@0,.15,-.1, Bip01 Ponytail11=~head@0,0,-.15
            """,
            also={"hips": ("Bip01 Spine",), "spine": ("Bip01 Spine1",)},
        ),
        Rig(
            name="Character Studio file",
            sides=(r"^L_", "R_"),
            ends=True,
            moves=True,
            rows="""
            Pelvis=hips, Spine=back.1, Spine1=back.4, Neck=neck, Head=head
            Spine1 > L_Clavicle=collar, L_UpperArm=arm, L_Forearm=elbow, L_Hand=wrist
            Pelvis > L_Thigh=thigh, L_Calf=knee, L_Foot=ankle, L_Toe=ball
            """,
        ),
        Rig(
            name="Daz Genesis 3 and 8",
            sides=(r"^l(?=[A-Z])", "r"),
            frames="random",
            rows="""
            Genesis8Female=floor, hip=hips, abdomenLower=back.1, abdomenUpper=back.3, chestLower=back.5,
                chestUpper=back.75, neckLower=neck, neckUpper=~neck.5, head=head
            head > upperTeeth=~nose@0,-.03,-.03
            head > lowerJaw=jaw, tongue01=chin
            head > lEye=eye
            head > lEar=ear
            head > upperFaceRig=~head, lBrowMid=brow
            upperFaceRig > CenterBrow=~nose@0,.07,0
            chestLower > lPectoral=breast
            chestUpper > lCollar=collar, lShldrBend=arm, lShldrTwist=~arm.5, lForearmBend=elbow,
                lForearmTwist=~elbow.5, lHand=wrist
            lHand > lThumb1=thumb1, lThumb2=thumb2, lThumb3=thumb3
            lHand > lCarpal1=index0, lIndex1=index1, lIndex2=index2, lIndex3=index3
            lHand > lCarpal2=middle0, lMid1=middle1, lMid2=middle2, lMid3=middle3
            hip > pelvis=~hips@0,-.02,0, lThighBend=thigh, lThighTwist=~thigh.5, lShin=knee, lFoot=ankle,
                lMetatarsals=~ankle.5, lToe=ball
            lToe > lBigToe=toe
            lToe > lSmallToe1=~toe@.03,0,-.01
            """,
        ),
        Rig(
            name="Daz Genesis 9",
            sides=(r"^l_", "r_"),
            pose="A",
            rows="""
            Genesis9=floor, hip=hips, spine1=back.15, spine2=back.35, spine3=back.55, spine4=back.75, neck1=neck,
                neck2=~neck.5, head=head
            head > lowerjaw=jaw, tongue01=chin
            head > l_eye=eye
            spine4 > l_pectoral=breast
            spine4 > l_shoulder=collar, l_upperarm=arm, l_forearm=elbow, l_hand=wrist
            l_upperarm > l_upperarmtwist1=~arm.3
            l_upperarm > l_upperarmtwist2=~arm.6
            l_forearm > l_forearmtwist1=~elbow.3
            l_hand > l_thumb1=thumb1, l_thumb2=thumb2
            l_hand > l_indexmetacarpal=index0, l_index1=index1, l_index2=index2
            hip > pelvis=~hips@0,-.02,0, l_thigh=thigh, l_shin=knee, l_foot=ankle, l_metatarsal=~ankle.5, l_toes=ball
            l_thigh > l_thightwist1=~thigh.3
            l_toes > l_bigtoe1=toe
            """,
        ),
        Rig(
            name="Poser",
            sides=(r"^l(?=[A-Z])", "r"),
            ends=True,
            rows="""
            Figure=floor, hip=hips, abdomen=back.2, chest=back.5, neck=neck, head=head
            head > leftEye=~head@.03,.12,.09
            head > rightEye=~head@-.03,.12,.09
            chest > lCollar=collar, lShldr=arm, lForeArm=elbow, lHand=wrist
            lHand > lThumb1=thumb1, lThumb2=thumb2
            lHand > lIndex1=index1, lIndex2=index2
            hip > lButtock=~thigh@-.03,.03,0, lThigh=thigh, lShin=knee, lFoot=ankle, lToe=ball
            """,
        ),
        Rig(
            name="Reallusion Character Creator",
            rows=CC_BASE + CC_FACE + CC_FINGERS,
            sides=(r"_L_", "_R_"),
            pose="A",
            frames="random",
        ),
        Rig(
            name="AccuRIG",
            rows=CC_BASE + CC_FINGERS,
            sides=(r"_L_", "_R_"),
            frames="bone",
            scale={"arms": 1.1, "legs": 0.9},
        ),
        Rig(
            name="iClone",
            sides=(r"^L_", "R_"),
            pose="A",
            moves=True,
            rows="""
            BoneRoot=floor, Hip=hips, Waist=back.2, Spine01=back.4, Spine02=back.7, NeckTwist01=neck, Head=head
            Spine02 > L_Clavicle=collar, L_Upperarm=arm, L_Forearm=elbow, L_Hand=wrist
            L_Upperarm > L_UpperarmTwist=~arm.5
            Hip > Pelvis=~hips, L_Thigh=thigh, L_Calf=knee, L_Foot=ankle, L_ToeBase=ball
            """,
        ),
        Rig(
            name="Cascadeur",
            sides=(r"_l$", "_r"),
            pose="A",
            frames="random",
            rows="""
            pelvis=hips, stomach=back.3, chest=back.6, neck=neck, head=head
            chest > clavicle_l=collar, arm_l=arm, forearm_l=elbow, hand_l=wrist
            hand_l > weapon_l=~wrist.5
            pelvis > thigh_l=thigh, calf_l=knee, foot_l=ankle, toe_l=ball
            """,
        ),
        Rig(
            name="MakeHuman",
            sides=(r"\.L", ".R"),
            frames="blender",
            pose="A",
            rows="""
            root=hips, spine05=back.1, spine04=back.25, spine03=back.4, spine02=back.55, spine01=back.8, neck01=neck,
                neck02=~neck.3, neck03=~neck.6, head=head
            head > jaw=jaw, tongue00=chin
            head > eye.L=eye
            spine02 > breast.L=breast
            spine01 > clavicle.L=collar, shoulder01.L=~collar.8, upperarm01.L=arm, upperarm02.L=~arm.5,
                lowerarm01.L=elbow, lowerarm02.L=~elbow.5, wrist.L=wrist
            wrist.L > finger1-1.L=thumb1, finger1-2.L=thumb2, finger1-3.L=thumb3
            wrist.L > metacarpal1.L=index0, finger2-1.L=index1, finger2-2.L=index2, finger2-3.L=index3
            root > pelvis.L=~thigh@-.05,.03,0, upperleg01.L=thigh, upperleg02.L=~thigh.5, lowerleg01.L=knee,
                lowerleg02.L=~knee.5, foot.L=ankle, toe1-1.L=ball, toe1-2.L=toe
            """,
        ),
        Rig(
            name="MakeHuman for the CMU motions",
            ends=True,
            rows="""
            Hips=hips, LowerBack=back.1, Spine=back.35, Spine1=back.65, Neck=neck, Neck1=~neck.5, Head=head
            Spine1 > LeftShoulder=collar, LeftArm=arm, LeftForeArm=elbow, LeftHand=wrist
            LeftHand > LThumb=thumb1
            LeftHand > LeftFingerBase=~wrist.8, LeftHandFinger1=middle1
            Hips > LHipJoint=~thigh@-.04,.02,0, LeftUpLeg=thigh, LeftLeg=knee, LeftFoot=ankle, LeftToeBase=ball
            """,
            sides=(r"Left|^L(?=[HT])", lambda m: "Right" if m[0] == "Left" else "R"),
        ),  # type: ignore[arg-type]
        Rig(
            name="MakeHuman for games",
            sides=(r"_l$", "_r"),
            frames="blender",
            pose="A",
            rows="""
            Root=floor, pelvis=hips, spine_01=back.2, spine_02=back.45, spine_03=back.7, neck_01=neck, head=head
            spine_03 > clavicle_l=collar, upperarm_l=arm, lowerarm_l=elbow, hand_l=wrist
            pelvis > thigh_l=thigh, calf_l=knee, foot_l=ankle, ball_l=ball
            """,
        ),
        Rig(
            name="Quaternius",
            sides=(r"\.L$", ".R"),
            frames="blender",
            rows="""
            Root=floor, Body=~hips, Hips=hips, Abdomen=back.2, Torso=back.5, Neck=neck, Head=head
            Torso > Shoulder.L=collar, UpperArm.L=arm, LowerArm.L=elbow, Palm.L=wrist
            Palm.L > Thumb1.L=thumb1, Thumb2.L=thumb2
            Palm.L > Fingers1.L=middle1, Fingers2.L=middle2
            Hips > UpperLeg.L=thigh, LowerLeg.L=knee, Foot.L=ankle
            """,
        ),
        Rig(
            name="MMD",
            sides=(r"左", "右"),
            pose="A",
            also={"hips": ("グルーブ", "下半身")},
            rows="全ての親=floor, センター=~hips@0,-.4,0, グルーブ=~hips@0,-.38,0, 腰=hips, "
            + MMD_SPINE
            + MMD_ARM
            + """
            腰 > 下半身=~hips@0,.05,0, 左足=thigh, 左ひざ=knee, 左足首=ankle, 左つま先=ball
            左腕 > 左腕捩=~arm.5
            左ひじ > 左手捩=~elbow.5
            全ての親 > 左足IK親=~ankle@0,-.08,0, 左足ＩＫ=~ankle, 左つま先ＩＫ=~ball
            """,
        ),
        Rig(
            name="MMD, plain",
            sides=(r"左", "右"),
            pose="A",
            rows="センター=~hips@0,-.4,0, "
            + MMD_SPINE
            + MMD_ARM
            + """
            センター > 下半身=hips, 左足=thigh, 左ひざ=knee, 左足首=ankle, 左つま先=ball
            センター > 左足ＩＫ=~ankle, 左つま先ＩＫ=~ball
            """,
            also={"hips": ("センター",)},
        ),
        # Data sets.
        Rig(name="SMPL", rows=SMPL, sides=(r"^L_", "R_"), ends=True, moves=True),
        Rig(
            name="SMPL-H",
            sides=(r"left", "right"),
            moves=True,
            rows=SMPL_LOWER + fingers("left_wrist > left_{finger}{n}", "thumb index middle ring pinky"),
        ),
        Rig(
            name="SMPL-X",
            sides=(r"left", "right"),
            rows=SMPL_LOWER
            + """
            head > jaw=jaw
            head > left_eye_smplhf=eye
            """
            + fingers("left_wrist > left_{finger}{n}", "thumb index middle ring pinky"),
        ),
        Rig(
            name="CMU Acclaim",
            sides=(r"^l", "r"),
            frames="random",
            ends=True,
            moves=True,
            rows="""
            root=hips, lowerback=back.1, upperback=back.35, thorax=back.65, lowerneck=neck, upperneck=~neck.5,
                head=head
            thorax > lclavicle=collar, lhumerus=arm, lradius=elbow, lwrist=wrist, lhand=~wrist.3, lfingers=middle1
            lhand > lthumb=thumb1
            root > lhipjoint=~thigh@-.04,.02,0, lfemur=thigh, ltibia=knee, lfoot=ankle, ltoes=ball
            """,
        ),
        Rig(
            name="CMU for MotionBuilder",
            ends=True,
            moves=True,
            sides=(r"Left|^L(?=[HT])", lambda m: "Right" if m[0] == "Left" else "R"),
            rows="""
            Hips=hips, LowerBack=back.1, Spine=back.35, Spine1=back.65, Neck=neck, Neck1=~neck.5, Head=head
            Spine1 > LeftShoulder=collar, LeftArm=arm, LeftForeArm=elbow, LeftHand=wrist, LeftFingerBase=~wrist.8,
                LeftHandIndex1=middle1
            LeftHand > LThumb=thumb1
            Hips > LHipJoint=~hips, LeftUpLeg=thigh, LeftLeg=knee, LeftFoot=ankle, LeftToeBase=ball
            """,
        ),  # type: ignore[arg-type]
        Rig(
            name="Bandai Namco",
            sides=(r"_L$", "_R"),
            ends=True,
            moves=True,
            frames="random",
            laid_out=True,
            rows="""
            joint_Root=floor, Hips=hips, Spine=back.2, Chest=back.6, Neck=neck, Head=head
            Chest > Shoulder_L=collar, UpperArm_L=arm, LowerArm_L=elbow, Hand_L=wrist
            Hips > UpperLeg_L=thigh, LowerLeg_L=knee, Foot_L=ankle, Toes_L=ball
            """,
        ),
        Rig(name="LaFAN1", ends=True, frames="bone", laid_out=True, rows=HUMAN_IK.replace("LeftToeBase", "LeftToe")),
        Rig(
            name="Human3.6M",
            sides=(r"^L", "R"),
            moves=True,
            rows="""
            Hip=hips, Spine=back.45, Thorax=back.9, Neck=neck, Head=head
            Thorax > LShoulder=arm, LElbow=elbow, LWrist=wrist
            Hip > LHip=thigh, LKnee=knee, LFoot=ankle
            """,
        ),
        Rig(
            name="Truebones-like",
            sides=(r"_L$", "_R"),
            frames="bone",
            moves=True,
            rows="""
            jt_Root_C=floor, jt_Hips_C=hips, jt_Spine1_C=back.2, jt_Spine2_C=back.6, jt_Neck_C=neck, jt_Head_C=head
            jt_Head_C > jt_JawHinge_C=jaw, jt_JawEnd_C=chin
            jt_Spine2_C > jt_Clav_L=collar, jt_Shldr_L=arm, jt_Elbow_L=elbow, jt_Hand_L=wrist
            jt_Hips_C > jt_UpperLeg_L=thigh, jt_Knee_L=knee, jt_Ankle_L=ankle, jt_Toe_L=ball
            """,
        ),
        # Suits, cameras and capture software.
        Rig(
            name="Xsens MVN",
            ends=True,
            moves=True,
            rows="""
            Pelvis=hips, L5=back.1, L3=back.3, T12=back.5, T8=back.75, Neck=neck, Head=head
            T8 > LeftShoulder=collar, LeftUpperArm=arm, LeftForeArm=elbow, LeftHand=wrist
            Pelvis > LeftUpperLeg=thigh, LeftLowerLeg=knee, LeftFoot=ankle, LeftToe=ball
            """,
        ),
        Rig(
            name="Xsens BVH",
            ends=True,
            moves=True,
            rows="""
            Hips=hips, Chest=back.1, Chest2=back.3, Chest3=back.5, Chest4=back.75, Neck=neck, Head=head
            Chest4 > LeftCollar=collar, LeftShoulder=arm, LeftElbow=elbow, LeftWrist=wrist
            Hips > LeftHip=thigh, LeftKnee=knee, LeftAnkle=ankle, LeftToe=ball
            """,
        ),
        Rig(
            name="Vicon Shogun",
            moves=True,
            frames="random",
            rows="""
            Hips=hips, Spine=back.1, Spine1=back.3, Spine2=back.5, Spine3=back.75, Neck=neck, Neck1=~neck.5,
                Head=head, Head_end=top
            Spine3 > LeftShoulder=collar, LeftArm=arm, LeftForeArm=elbow, LeftHand=wrist
            LeftHand > LeftHandThumb1=thumb1, LeftHandThumb2=thumb2
            LeftHand > LeftHandMiddle1=middle1, LeftHandMiddle2=middle2
            Hips > LeftUpLeg=thigh, LeftLeg=knee, LeftFoot=ankle, LeftToeBase=ball, LeftToeBase_end=toe
            """,
        ),
        Rig(
            name="Vicon segments",
            sides=(r"^l", "r"),
            moves=True,
            ends=True,
            rows="""
            pelvis=hips, lumbar=back.2, thorax=back.5, neck=neck, head=head
            thorax > lclavicle=collar, lhumerus=arm, lradius=elbow, lhand=wrist
            pelvis > lfemur=thigh, ltibia=knee, lfoot=ankle, ltoes=ball
            """,
        ),
        Rig(
            name="OptiTrack",
            sides=(r"_L(?=[A-Z])", "_R"),
            moves=True,
            rows=_prefixed(
                "Skeleton_",
                """
            Hip=hips, Ab=back.2, Chest=back.5, Neck=neck, Head=head
            Chest > LShoulder=collar, LUArm=arm, LFArm=elbow, LHand=wrist
            Hip > LThigh=thigh, LShin=knee, LFoot=ankle, LToe=ball
            """,
            ),
        ),
        Rig(
            name="Rokoko",
            moves=True,
            frames="random",
            rows="""
            Hips=hips, Spine1=back.1, Spine2=back.3, Spine3=back.5, Spine4=back.75, Neck=neck, Head=head
            Spine4 > LeftShoulder=collar, LeftArm=arm, LeftForeArm=elbow, LeftHand=wrist
            LeftHand > LeftFinger1Metacarpal=thumb1, LeftFinger1Proximal=thumb2, LeftFinger1Distal=thumb3,
                LeftFinger1Tip=thumb4
            LeftHand > LeftFinger2Metacarpal=index0, LeftFinger2Proximal=index1, LeftFinger2Medial=index2,
                LeftFinger2Distal=index3, LeftFinger2Tip=index4
            Hips > LeftThigh=thigh, LeftShin=knee, LeftFoot=ankle, LeftToe=ball, LeftToeTip=toe
            """,
        ),
        Rig(
            name="Perception Neuron",
            ends=True,
            moves=True,
            rows=_prefixed(
                "Robot_",
                """
            Hips=hips, Spine=back.1, Spine1=back.3, Spine2=back.5, Spine3=back.75, Neck=neck, Head=head
            Spine3 > LeftShoulder=collar, LeftArm=arm, LeftForeArm=elbow, LeftHand=wrist
            LeftHand > LeftHandThumb1=thumb1, LeftHandThumb2=thumb2, LeftHandThumb3=thumb3
            LeftHand > LeftInHandIndex=index0, LeftHandIndex1=index1, LeftHandIndex2=index2, LeftHandIndex3=index3
            LeftHand > LeftInHandMiddle=middle0, LeftHandMiddle1=middle1, LeftHandMiddle2=middle2
            Hips > LeftUpLeg=thigh, LeftLeg=knee, LeftFoot=ankle
            """,
            ),
        ),
        Rig(
            name="Kinect",
            sides=(r"Left$", "Right"),
            moves=True,
            frames="random",
            rows="""
            SpineBase=hips, SpineMid=back.45, SpineShoulder=back.9, Neck=neck, Head=head
            SpineShoulder > ShoulderLeft=arm, ElbowLeft=elbow, WristLeft=wrist, HandLeft=~wrist.7, HandTipLeft=middle3
            WristLeft > ThumbLeft=thumb2
            SpineBase > HipLeft=thigh, KneeLeft=knee, AnkleLeft=ankle, FootLeft=ball
            """,
        ),
        Rig(
            name="Azure Kinect",
            sides=(r"LEFT$", "RIGHT"),
            moves=True,
            rows="""
            PELVIS=hips, SPINE_NAVEL=back.4, SPINE_CHEST=back.7, NECK=neck, HEAD=head, NOSE=nose
            HEAD > EYE_LEFT=eye
            HEAD > EAR_LEFT=ear
            SPINE_CHEST > CLAVICLE_LEFT=collar, SHOULDER_LEFT=arm, ELBOW_LEFT=elbow, WRIST_LEFT=wrist,
                HAND_LEFT=~wrist.7, HANDTIP_LEFT=middle3
            WRIST_LEFT > THUMB_LEFT=thumb2
            PELVIS > HIP_LEFT=thigh, KNEE_LEFT=knee, ANKLE_LEFT=ankle, FOOT_LEFT=ball
            """,
        ),
        Rig(
            name="ARKit",
            sides=(r"left", "right"),
            frames="random",
            rows="""
            root=floor, hips_joint=hips, spine_1_joint=back.1, spine_2_joint=back.2, spine_3_joint=back.35,
                spine_4_joint=back.5, spine_5_joint=back.65, spine_6_joint=back.75, spine_7_joint=back.85,
                neck_1_joint=neck, neck_2_joint=~neck.3, neck_3_joint=~neck.6, neck_4_joint=~neck.8, head_joint=head
            head_joint > jaw_joint=jaw, chin_joint=chin
            head_joint > nose_joint=nose
            head_joint > left_eye_joint=eye
            spine_7_joint > left_shoulder_1_joint=collar, left_arm_joint=arm, left_forearm_joint=elbow,
                left_hand_joint=wrist
            left_hand_joint > left_handIndexStart_joint=index0, left_handIndex_1_joint=index1,
                left_handIndex_2_joint=index2
            left_hand_joint > left_handThumbStart_joint=thumb1, left_handThumb_1_joint=thumb2
            hips_joint > left_upLeg_joint=thigh, left_leg_joint=knee, left_foot_joint=ankle, left_toes_joint=ball,
                left_toesEnd_joint=toe
            """,
        ),
        Rig(
            name="DeepMotion",
            sides=(r"^l_", "r_"),
            frames="random",
            moves=True,
            rows="""
            hips_JNT=hips, spine_JNT=back.15, spine1_JNT=back.4, spine2_JNT=back.7, neck_JNT=neck, head_JNT=head
            spine2_JNT > l_shoulder_JNT=collar, l_arm_JNT=arm, l_forearm_JNT=elbow, l_hand_JNT=wrist
            hips_JNT > l_upleg_JNT=thigh, l_leg_JNT=knee, l_foot_JNT=ankle, l_toebase_JNT=ball
            """,
        ),
        # By hand, and without help from names.
        Rig(
            name="By hand, lower case",
            sides=(r"\.l$", ".r"),
            frames="blender",
            rows="""
            hips=hips, belly=back.2, chest=back.6, neck=neck, head=head
            chest > shoulder.l=collar, upperarm.l=arm, lowerarm.l=elbow, hand.l=wrist
            hips > upperleg.l=thigh, lowerleg.l=knee, foot.l=ankle, toe.l=ball
            """,
        ),
        Rig(
            name="By hand, part first",
            sides=(r"_left$", "_right"),
            frames="random",
            pose="A",
            rows="""
            root=floor, body=hips, torso=back.4, head=head
            torso > arm_upper_left=arm, arm_lower_left=elbow, arm_hand_left=wrist
            body > leg_upper_left=thigh, leg_lower_left=knee, leg_foot_left=ankle
            """,
        ),
        Rig(
            name="By hand, numbered limbs",
            sides=(r"L$", "R"),
            frames="bone",
            rows="""
            Base=hips, Back1=back.2, Back2=back.6, Neck=neck, Head=head
            Back2 > Arm1L=collar, Arm2L=arm, Arm3L=elbow, HandL=wrist
            Base > Leg1L=thigh, Leg2L=knee, FootL=ankle, ToeL=ball
            """,
        ),
        Rig(
            name="German",
            sides=(r"links$", "rechts"),
            ends=True,
            rows="""
            Becken=hips, Wirbel1=back.2, Wirbel2=back.6, Hals=neck, Kopf=head
            Wirbel2 > Schulter_links=collar, Oberarm_links=arm, Unterarm_links=elbow, Hand_links=wrist
            Becken > Oberschenkel_links=thigh, Unterschenkel_links=knee, Fuss_links=ankle, Zehen_links=ball
            """,
        ),
        Rig(
            name="Bones with numbers",
            sides=(r"^Bone\.1", "Bone.2"),
            moves=True,
            frames="blender",
            rows="""
            Bone.000=hips, Bone.001=back.2, Bone.002=back.6, Bone.003=neck, Bone.004=head, Bone.005=top
            Bone.002 > Bone.100=collar, Bone.101=arm, Bone.102=elbow, Bone.103=wrist, Bone.104=middle1
            Bone.000 > Bone.110=thigh, Bone.111=knee, Bone.112=ankle, Bone.113=ball, Bone.114=toe
            """,
        ),
    ]


def _prefixed(prefix: str, rows: str) -> str:
    """The rows with a prefix before every name."""
    found = []
    for row in rows_of(rows):
        above, arrow, chain = row.rpartition(" > ")
        bones = ", ".join(prefix + bone for bone in chain.split(", "))
        found.append((prefix + above + arrow if arrow else "") + bones)
    return "\n".join(found)


RIGS = {rig.name: rig for rig in _rigs()}
