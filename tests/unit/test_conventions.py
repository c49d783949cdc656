"""Rigs of many programs by their bone names: the main bones are found and the convention is named."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.correspondence.by_name import CONVENTIONS, UNKNOWN, convention
from understudy.figure.roles import roles, side, words
from understudy.figure.skeleton import Skeleton

MAIN = (
    "hips", "spine", "head",
    *(f"{s}_{p}" for s in ("left", "right")
      for p in ("upper_arm", "lower_arm", "hand", "upper_leg", "lower_leg", "foot")),
)  # fmt: skip

# A rig: how it writes left and right; its tree, a bone a line with `*` for the side and a rough place (x, y, z in
# centimetres, x of the left side); and by hand what its hips, spine, head, upper arm, forearm, hand, thigh, shin and
# foot are called.
RIGS = {
    "Mixamo": (("Left", "Right"), """
        mixamorig:Hips 0 100 0
         mixamorig:Spine 0 110 0
          mixamorig:Spine1 0 122 0
           mixamorig:Spine2 0 135 0
            mixamorig:Neck 0 150 0
             mixamorig:Head 0 160 2
              mixamorig:HeadTop_End 0 180 2
            mixamorig:*Shoulder 5 145 0
             mixamorig:*Arm 18 145 0
              mixamorig:*ForeArm 46 145 0
               mixamorig:*Hand 72 145 0
                mixamorig:*HandThumb1 75 144 3
                mixamorig:*HandIndex1 82 145 2
         mixamorig:*UpLeg 9 95 0
          mixamorig:*Leg 9 52 0
           mixamorig:*Foot 9 8 0
            mixamorig:*ToeBase 9 2 12
             mixamorig:*Toe_End 9 2 20
        """, ("mixamorig:Hips mixamorig:Spine mixamorig:Head mixamorig:*Arm mixamorig:*ForeArm mixamorig:*Hand "
              "mixamorig:*UpLeg mixamorig:*Leg mixamorig:*Foot")),
    "CMU": (("Left", "Right"), """
        Hips 0 100 0
         *1HipJoint 0 100 0
          *UpLeg 9 90 3
           *Leg 20 50 3
            *Foot 33 10 3
             *ToeBase 34 7 15
         LowerBack 0 100 0
          Spine 0 112 0
           Spine1 0 123 0
            Neck 0 123 0
             Neck1 0 132 0
              Head 0 141 0
            *Shoulder 0 123 0
             *Arm 20 128 -2
              *ForeArm 48 128 -2
               *Hand 67 128 -2
                *FingerBase 67 128 -2
                 *HandIndex1 71 128 -2
                *1Thumb 67 128 -2
        """, "Hips LowerBack Head *Arm *ForeArm *Hand *UpLeg *Leg *Foot"),
    "CMU Acclaim": (("l", "r"), """
        root 0 100 0
         *hipjoint 0 100 0
          *femur 9 90 3
           *tibia 20 50 3
            *foot 33 10 3
             *toes 34 7 15
         lowerback 0 100 0
          upperback 0 112 0
           thorax 0 123 0
            lowerneck 0 135 0
             upperneck 0 144 0
              head 0 152 0
            *clavicle 0 135 0
             *humerus 20 140 -2
              *radius 48 140 -2
               *wrist 67 140 -2
                *hand 76 140 -2
                 *fingers 80 140 -2
                *thumb 76 140 -2
        """, "root lowerback head *humerus *radius *wrist *femur *tibia *foot"),
    "Biovision": (("Left", "Right"), """
        Hips 0 100 0
         Chest 0 115 0
          Neck 0 150 0
           Head 0 160 0
          *Collar 3 145 0
           *Shoulder 18 145 0
            *Elbow 18 115 0
             *Wrist 18 90 0
         *Hip 9 100 0
          *Knee 9 55 0
           *Ankle 9 10 0
        """, "Hips Chest Head *Shoulder *Elbow *Wrist *Hip *Knee *Ankle"),
    "Xsens MVN": (("Left", "Right"), """
        Pelvis 0 100 0
         L5 0 107 0
          L3 0 117 0
           T12 0 127 0
            T8 0 136 0
             Neck 0 150 0
              Head 0 160 0
             *Shoulder 3 145 0
              *UpperArm 17 145 0
               *ForeArm 47 145 0
                *Hand 72 145 0
         *UpperLeg 9 98 0
          *LowerLeg 9 52 0
           *Foot 9 9 0
            *Toe 9 1 15
        """, "Pelvis L5 Head *UpperArm *ForeArm *Hand *UpperLeg *LowerLeg *Foot"),
    "Rokoko": (("Left", "Right"), """
        Root 0 0 0
         Hips 0 100 0
          Spine1 0 106 0
           Spine2 0 118 0
            Spine3 0 130 0
             Spine4 0 140 0
              Neck 0 150 0
               Head 0 160 0
              *Shoulder 3 146 0
               *Arm 17 146 0
                *ForeArm 45 146 0
                 *Hand 71 146 0
                  *Finger1Metacarpal 73 146 2
                   *Finger1Proximal 76 146 3
          *Thigh 9 97 0
           *Shin 9 53 0
            *Foot 9 9 0
             *Toe 9 2 14
        """, "Hips Spine1 Head *Arm *ForeArm *Hand *Thigh *Shin *Foot"),
    "Perception Neuron or Rokoko": (("Left", "Right"), """
        Robot_Hips 0 100 0
         Robot_*UpLeg 9 97 0
          Robot_*Leg 9 53 0
           Robot_*Foot 9 9 0
         Robot_Spine 0 110 0
          Robot_Spine1 0 120 0
           Robot_Spine2 0 132 0
            Robot_Neck 0 150 0
             Robot_Head 0 160 0
            Robot_*Shoulder 3 146 0
             Robot_*Arm 17 146 0
              Robot_*ForeArm 45 146 0
               Robot_*Hand 71 146 0
                Robot_*HandThumb1 73 146 3
                Robot_*InHandIndex 75 146 2
                 Robot_*HandIndex1 80 146 2
        """, ("Robot_Hips Robot_Spine Robot_Head Robot_*Arm Robot_*ForeArm Robot_*Hand Robot_*UpLeg Robot_*Leg "
              "Robot_*Foot")),
    "LaFAN1": (("Left", "Right"), """
        Hips 0 95 0
         *UpLeg 10 95 0
          *Leg 10 52 0
           *Foot 10 9 0
            *Toe 10 2 14
         Spine 0 104 0
          Spine1 0 117 0
           Spine2 0 130 0
            Neck 0 151 0
             Head 0 162 0
            *Shoulder 3 146 0
             *Arm 14 146 0
              *ForeArm 45 146 0
               *Hand 71 146 0
        """, "Hips Spine Head *Arm *ForeArm *Hand *UpLeg *Leg *Foot"),
    "MotionBuilder": (("Left", "Right"), """
        Character1_Reference 0 0 0
         Character1_Hips 0 100 0
          Character1_Spine 0 110 0
           Character1_Spine1 0 125 0
            Character1_Neck 0 150 0
             Character1_Head 0 160 0
            Character1_*Shoulder 3 146 0
             Character1_*Arm 17 146 0
              Character1_*ArmRoll 30 146 0
              Character1_*ForeArm 45 146 0
               Character1_*ForeArmRoll 58 146 0
               Character1_*Hand 71 146 0
          Character1_*UpLeg 9 97 0
           Character1_*UpLegRoll 9 75 0
           Character1_*Leg 9 53 0
            Character1_*Foot 9 9 0
             Character1_*ToeBase 9 2 14
        """, ("Character1_Hips Character1_Spine Character1_Head Character1_*Arm Character1_*ForeArm Character1_*Hand "
              "Character1_*UpLeg Character1_*Leg Character1_*Foot")),
    "Daz Genesis 3 and 8": (("l", "r"), """
        Genesis8Male 0 0 0
         hip 0 104 0
          pelvis 0 105 0
           *ThighBend 8 95 0
            *ThighTwist 9 75 0
             *Shin 10 52 0
              *Foot 11 9 -3
               *Metatarsals 11 4 3
                *Toe 11 2 10
                 *SmallToe4 14 1 12
                 *BigToe 10 1 13
          abdomenLower 0 107 0
           abdomenUpper 0 115 0
            chestLower 0 124 0
             chestUpper 0 137 0
              *Collar 2 147 0
               *ShldrBend 14 146 0
                *ShldrTwist 27 146 0
                 *ForearmBend 42 146 0
                  *ForearmTwist 54 146 0
                   *Hand 67 146 0
                    *Carpal1 70 146 1
                     *Index1 76 146 2
                    *Thumb1 69 145 3
              neckLower 0 149 0
               neckUpper 0 154 1
                head 0 160 2
                 *Eye 3 168 9
             *Pectoral 7 134 9
        """, "hip abdomenLower head *ShldrBend *ForearmBend *Hand *ThighBend *Shin *Foot"),
    "Daz Genesis 9": (("l", "r"), """
        hip 0 104 0
         pelvis 0 105 0
          *_thigh 8 95 0
           *_thightwist1 9 80 0
           *_shin 10 52 0
            *_foot 11 9 -3
             *_metatarsal 11 4 3
              *_toes 11 2 10
         spine1 0 107 0
          spine2 0 115 0
           spine3 0 124 0
            spine4 0 137 0
             *_shoulder 2 147 0
              *_upperarm 14 146 0
               *_upperarmtwist1 20 146 0
               *_forearm 42 146 0
                *_hand 67 146 0
             neck1 0 149 0
              neck2 0 154 1
               head 0 160 2
        """, "hip spine1 head *_upperarm *_forearm *_hand *_thigh *_shin *_foot"),
    "Poser": (("l", "r"), """
        hip 0 100 0
         abdomen 0 110 0
          chest 0 122 0
           neck 0 146 0
            head 0 153 0
           *Collar 3 143 0
            *Shldr 12 142 0
             *ForeArm 40 142 0
              *Hand 63 142 0
               *Thumb1 65 141 3
               *Mid1 71 142 0
         *Buttock 9 101 0
          *Thigh 9 99 0
           *Shin 9 55 0
            *Foot 9 10 -5
             *Toe 9 2 8
        """, "hip abdomen head *Shldr *ForeArm *Hand *Thigh *Shin *Foot"),
    "VRoid": (("L", "R"), """
        Root 0 0 0
         J_Bip_C_Hips 0 95 0
          J_Bip_C_Spine 0 102 0
           J_Bip_C_Chest 0 112 0
            J_Bip_C_UpperChest 0 124 0
             J_Bip_C_Neck 0 140 0
              J_Bip_C_Head 0 148 0
               J_Adj_*_FaceEye 2 153 4
               J_Sec_Hair1_01 0 160 5
             J_Sec_*_Bust1 4 128 5
             J_Bip_*_Shoulder 2 137 0
              J_Bip_*_UpperArm 10 136 0
               J_Sec_*_TopsUpperArmOutside_01 12 137 0
               J_Bip_*_LowerArm 33 136 0
                J_Bip_*_Hand 55 136 0
                 J_Bip_*_Index1 62 136 1
          J_Bip_*_UpperLeg 8 90 0
           J_Bip_*_LowerLeg 8 50 0
            J_Bip_*_Foot 8 9 0
             J_Bip_*_ToeBase 8 2 10
        """, ("J_Bip_C_Hips J_Bip_C_Spine J_Bip_C_Head J_Bip_*_UpperArm J_Bip_*_LowerArm J_Bip_*_Hand "
              "J_Bip_*_UpperLeg J_Bip_*_LowerLeg J_Bip_*_Foot")),
    "VRM": (("left", "right"), """
        hips 0 95 0
         spine 0 102 0
          chest 0 112 0
           upperChest 0 124 0
            neck 0 140 0
             head 0 148 0
            *Shoulder 2 137 0
             *UpperArm 10 136 0
              *LowerArm 33 136 0
               *Hand 55 136 0
                *ThumbProximal 58 135 2
                *IndexProximal 62 136 1
                 *IndexIntermediate 65 136 1
         *UpperLeg 8 90 0
          *LowerLeg 8 50 0
           *Foot 8 9 0
            *Toes 8 2 10
        """, "hips spine head *UpperArm *LowerArm *Hand *UpperLeg *LowerLeg *Foot"),
    "Unreal": (("l", "r"), """
        root 0 0 0
         pelvis 0 97 0
          spine_01 0 108 0
           spine_02 0 120 0
            spine_03 0 133 0
             clavicle_* 4 146 0
              upperarm_* 18 144 0
               upperarm_twist_01_* 25 136 0
               lowerarm_* 38 122 0
                lowerarm_twist_01_* 50 108 2
                hand_* 56 102 4
                 index_metacarpal_* 58 100 5
                  index_01_* 62 95 6
                 thumb_01_* 58 99 8
             neck_01 0 152 0
              head 0 160 2
          thigh_* 9 93 0
           thigh_twist_01_* 9 70 0
           calf_* 11 50 0
            calf_twist_01_* 12 30 0
            foot_* 13 10 -3
             ball_* 14 2 10
         ik_foot_root 0 0 0
          ik_foot_* 13 10 -3
         ik_hand_root 0 0 0
          ik_hand_gun -56 102 4
        """, "pelvis spine_01 head upperarm_* lowerarm_* hand_* thigh_* calf_* foot_*"),
    "Rigify": (("L", "R"), """
        DEF-spine 0 100 0
         DEF-pelvis.* 5 102 0
         DEF-thigh.* 9 95 0
          DEF-thigh.*.001 9 75 0
           DEF-shin.* 9 53 0
            DEF-shin.*.001 9 31 0
             DEF-foot.* 9 9 0
              DEF-toe.* 9 2 12
         DEF-spine.001 0 112 0
          DEF-spine.002 0 124 0
           DEF-spine.003 0 136 0
            DEF-breast.* 8 135 10
            DEF-shoulder.* 2 146 4
             DEF-upper_arm.* 17 146 0
              DEF-upper_arm.*.001 31 146 0
               DEF-forearm.* 45 146 0
                DEF-forearm.*.001 58 146 0
                 DEF-hand.* 71 146 0
                  DEF-f_index.01.* 80 146 2
                   DEF-f_index.02.* 84 146 2
                  DEF-thumb.01.* 73 145 3
            DEF-spine.004 0 150 0
             DEF-spine.005 0 155 1
              DEF-spine.006 0 161 2
        """, ("DEF-spine DEF-spine.001 DEF-spine.006 DEF-upper_arm.* DEF-forearm.* DEF-hand.* DEF-thigh.* DEF-shin.* "
              "DEF-foot.*")),
    "SMPL": (("left", "right"), """
        pelvis 0 95 0
         *_hip 6 87 0
          *_knee 8 49 0
           *_ankle 8 8 -3
            *_foot 9 2 10
         spine1 0 106 0
          spine2 0 119 0
           spine3 0 125 0
            neck 0 146 0
             head 0 155 5
            *_collar 8 137 0
             *_shoulder 17 140 0
              *_elbow 43 139 -3
               *_wrist 68 140 -3
                *_hand 76 140 -3
        """, "pelvis spine1 head *_shoulder *_elbow *_wrist *_hip *_knee *_ankle"),
    "3ds Max Biped": (("L", "R"), """
        Bip01 0 100 0
         Bip01 Footsteps 0 0 0
         Bip01 Pelvis 0 100 0
          Bip01 Spine 0 108 0
           Bip01 * Thigh 9 97 0
            Bip01 * Calf 9 53 0
             Bip01 * Foot 9 9 0
              Bip01 * Toe0 9 2 12
               Bip01 * Toe0Nub 9 2 18
           Bip01 Spine1 0 122 0
            Bip01 Neck 0 148 0
             Bip01 Head 0 157 0
              Bip01 HeadNub 0 178 0
             Bip01 * Clavicle 3 146 0
              Bip01 * UpperArm 17 146 0
               Bip01 * Forearm 45 146 0
                Bip01 * Hand 71 146 0
                 Bip01 * Finger0 73 145 3
                  Bip01 * Finger01 76 145 5
                   Bip01 * Finger0Nub 78 145 6
                 Bip01 * Finger1 80 146 2
        """, ("Bip01,Pelvis Bip01,Spine Bip01,Head Bip01,*,UpperArm Bip01,*,Forearm Bip01,*,Hand Bip01,*,Thigh "
              "Bip01,*,Calf Bip01,*,Foot")),
    "MakeHuman": (("L", "R"), """
        root 0 100 0
         pelvis.* 0 101 1
          upperleg01.* 10 97 0
           upperleg02.* 11 88 1
            lowerleg01.* 12 53 3
             lowerleg02.* 13 31 2
              foot.* 13 9 1
               metatarsal1.* 12 6 8
                toe1-1.* 11 3 14
               metatarsal5.* 15 6 7
                toe5-1.* 16 3 12
         spine05 0 101 1
          spine04 0 108 -2
           spine03 0 115 -1
            spine02 0 123 0
             breast.* 5 125 8
             spine01 0 137 -1
              clavicle.* 2 147 2
               shoulder01.* 10 149 2
                upperarm01.* 17 145 2
                 upperarm02.* 22 140 2
                  lowerarm01.* 33 127 2
                   lowerarm02.* 40 121 5
                    wrist.* 46 115 9
                     finger1-1.* 46 114 13
                     metacarpal1.* 47 113 10
                      finger2-1.* 48 111 15
              neck01 0 155 0
               neck02 0 158 0
                head 0 165 0
                 jaw 0 164 5
        """, "root spine05 head upperarm01.* lowerarm01.* wrist.* upperleg01.* lowerleg01.* foot.*"),
    "MakeHuman, older": (("L", "R"), """
        Root 0 96 0
         Spine1 0 100 0
          Spine2 0 110 0
           Spine3 0 122 0
            Neck 0 142 0
             Head 0 152 0
            __Clavicle_* 0 142 0
             Clavicle_* 2 135 4
              UpArm_* 17 135 0
               LoArm_* 37 133 0
                Hand_* 61 132 0
         Hips 0 100 0
          __UpLeg_* 0 92 0
           UpLeg_* 10 90 0
            LoLeg_* 9 48 0
             Foot_* 7 8 0
              Toe_* 7 2 11
        """, "Hips Spine1 Head UpArm_* LoArm_* Hand_* UpLeg_* LoLeg_* Foot_*"),
    "Advanced Skeleton": (("L", "R"), """
        Root_M 0 100 0
         RootPart1_M 0 104 0
          Spine1_M 0 110 0
           Spine1Part1_M 0 117 0
            Chest_M 0 124 0
             Neck_M 0 148 0
              Head_M 0 157 0
               Jaw_M 0 158 4
             Scapula_* 3 145 0
              Shoulder_* 17 145 0
               ShoulderPart1_* 27 145 0
                Elbow_* 45 145 0
                 Wrist_* 71 145 0
                  IndexFinger1_* 79 145 2
                  ThumbFinger1_* 73 144 4
         Hip_* 9 97 0
          HipPart1_* 9 75 0
           Knee_* 9 53 0
            Ankle_* 9 9 0
             Toes_* 9 2 12
              ToesEnd_* 9 2 18
        """, "Root_M RootPart1_M Head_M Shoulder_* Elbow_* Wrist_* Hip_* Knee_* Ankle_*"),
    "Kinect": (("Left", "Right"), """
        SpineBase 0 95 0
         SpineMid 0 120 0
          SpineShoulder 0 142 0
           Neck 0 148 0
            Head 0 162 0
           Shoulder* 17 140 0
            Elbow* 18 115 0
             Wrist* 19 92 0
              Hand* 19 85 0
               HandTip* 19 78 0
               Thumb* 20 84 3
         Hip* 8 95 0
          Knee* 9 53 0
           Ankle* 9 12 0
            Foot* 9 6 8
        """, "SpineBase SpineMid Head Shoulder* Elbow* Wrist* Hip* Knee* Ankle*"),
    "Azure Kinect": (("LEFT", "RIGHT"), """
        PELVIS 0 95 0
         SPINE_NAVEL 0 112 0
          SPINE_CHEST 0 128 0
           NECK 0 148 0
            HEAD 0 157 0
             NOSE 0 160 12
             EYE_* 3 163 10
           CLAVICLE_* 4 145 0
            SHOULDER_* 17 143 0
             ELBOW_* 18 115 0
              WRIST_* 19 92 0
               HAND_* 19 85 0
                THUMB_* 20 84 3
         HIP_* 8 95 0
          KNEE_* 9 53 0
           ANKLE_* 9 12 0
            FOOT_* 9 6 8
        """, "PELVIS SPINE_NAVEL HEAD SHOULDER_* ELBOW_* WRIST_* HIP_* KNEE_* ANKLE_*"),
    "Quaternius": (("L", "R"), """
        Root 0 0 0
         Hips 0 100 0
          Abdomen 0 108 0
           Torso 0 120 0
            Chest 0 132 0
             Neck 0 148 0
              Head 0 157 0
             Shoulder.* 3 145 0
              UpperArm.* 17 145 0
               LowerArm.* 45 145 0
                Hand.* 71 145 0
                 Index2.* 79 145 2
                 Thumb2.* 73 144 4
          UpperLeg.* 9 97 0
           LowerLeg.* 9 53 0
            Foot.* 9 9 0
        """, "Hips Abdomen Head UpperArm.* LowerArm.* Hand.* UpperLeg.* LowerLeg.* Foot.*"),
    "ARKit": (("left", "right"), """
        root 0 0 0
         hips_joint 0 100 0
          *_upLeg_joint 9 97 0
           *_leg_joint 9 53 0
            *_foot_joint 9 9 0
             *_toes_joint 9 2 12
          spine_1_joint 0 108 0
           spine_2_joint 0 115 0
            spine_7_joint 0 137 0
             *_shoulder_1_joint 3 145 0
              *_arm_joint 17 145 0
               *_forearm_joint 45 145 0
                *_hand_joint 71 145 0
                 *_handThumbStart_joint 73 144 3
             neck_1_joint 0 149 0
              neck_2_joint 0 153 0
               head_joint 0 160 0
        """, ("hips_joint spine_1_joint head_joint *_arm_joint *_forearm_joint *_hand_joint *_upLeg_joint *_leg_joint "
              "*_foot_joint")),
    "OptiTrack Motive": (("L", "R"), """
        Hip 0 100 0
         Ab 0 108 0
          Chest 0 128 0
           Neck 0 150 0
            Head 0 160 0
           *Shoulder 3 146 0
            *UArm 17 146 0
             *FArm 45 146 0
              *Hand 71 146 0
         *Thigh 9 97 0
          *Shin 9 53 0
           *Foot 9 9 0
            *Toe 9 2 14
        """, "Hip Ab Head *UArm *FArm *Hand *Thigh *Shin *Foot"),
    "OpenPose": (("L", "R"), """
        MidHip 0 95 0
         Neck 0 145 0
          Nose 0 160 8
           *Eye 3 163 6
          *Shoulder 17 143 0
           *Elbow 18 115 0
            *Wrist 19 92 0
         *Hip 8 95 0
          *Knee 9 53 0
           *Ankle 9 9 0
            *BigToe 9 2 12
        """, "MidHip - Nose *Shoulder *Elbow *Wrist *Hip *Knee *Ankle"),
    "MikuMikuDance": (("左", "右"), """
        全ての親 0 0 0
         センター 0 80 0
          下半身 0 105 0
           *足 7 92 0
            *ひざ 7 50 0
             *足首 7 9 0
          上半身 0 105 0
           上半身2 0 116 0
            首 0 137 0
             頭 0 143 0
            *肩 2 133 0
             *腕 10 132 0
              *腕捩 20 125 0
               *ひじ 30 115 0
                *手捩 38 107 0
                 *手首 45 100 0
                  *親指０ 46 99 2
         *足ＩＫ 7 9 0
        """, "下半身 上半身 頭 *腕 *ひじ *手首 *足 *ひざ *足首"),
    "Unitree robots": (("left", "right"), """
        pelvis 0 79 0
         *_hip_pitch_link 6 69 0
          *_hip_roll_link 12 69 0
           *_hip_yaw_link 12 60 0
            *_knee_link 12 39 0
             *_ankle_pitch_link 12 9 0
              *_ankle_roll_link 12 8 0
         waist_yaw_link 0 82 0
          torso_link 0 86 0
           head_link 0 125 0
           *_shoulder_pitch_link 10 110 0
            *_shoulder_roll_link 14 109 0
             *_shoulder_yaw_link 15 99 0
              *_elbow_link 15 91 2
               *_wrist_roll_link 15 91 12
                *_wrist_pitch_link 15 91 16
                 *_rubber_hand 15 91 20
        """, ("pelvis waist_yaw_link head_link *_shoulder_pitch_link *_elbow_link *_wrist_pitch_link "
              "*_hip_pitch_link *_knee_link *_ankle_pitch_link")),
}  # fmt: skip


def make_rig(tree: str, sides: tuple[str, str]) -> Skeleton:
    """A skeleton from lines of names with rough positions; lines with `*` give both sides, one after the other."""
    names: list[str] = []
    parents: list[int] = []
    places: list[list[float]] = []
    above: list[tuple[int, list[int]]] = []
    for line in (text for text in tree.splitlines() if text.strip()):
        depth = len(line) - len(line.lstrip())
        *words_of, x, y, z = line.split()
        name = " ".join(words_of)
        while above and above[-1][0] >= depth:
            above.pop()
        sided = "*" in name
        children = []
        for which, sign in ((0, 1.0), (1, -1.0)) if sided else ((0, 1.0),):
            short = sides[which][:1] if "*1" in name else sides[which]
            parents.append(above[-1][1][min(which, len(above[-1][1]) - 1)] if above else -1)
            children.append(len(names))
            names.append(name.replace("*1", short).replace("*", short))
            places.append([sign * float(x) / 100.0, float(y) / 100.0, float(z) / 100.0])
        above.append((depth, children))
    at = np.array(places)
    offsets = np.array([p if parent < 0 else p - at[parent] for p, parent in zip(at, parents)])
    return Skeleton(names=tuple(names), parents=np.array(parents), offsets=offsets)


def expected(bones: str, sides: tuple[str, str]) -> dict[str, str | None]:
    """The main bones as written by hand, for both sides."""
    hips, spine, head, *limbs = (bone.replace(",", " ") for bone in bones.split())
    joints: dict[str, str | None] = {"hips": hips, "spine": None if spine == "-" else spine, "head": head}
    parts = ("upper_arm", "lower_arm", "hand", "upper_leg", "lower_leg", "foot")
    for which, word in zip(("left", "right"), sides):
        joints |= {f"{which}_{part}": bone.replace("*", word) for part, bone in zip(parts, limbs)}
    return joints


@pytest.mark.parametrize("name", RIGS)
def test_main_bones_are_found(name: str) -> None:
    sides, tree, bones = RIGS[name]
    rig = make_rig(tree, sides)
    joints = roles(rig)
    names = {part: rig.names[joints[part]] if part in joints else None for part in MAIN}
    assert names == expected(bones, sides)


@pytest.mark.parametrize("name", RIGS)
def test_convention_is_named(name: str) -> None:
    sides, tree, _ = RIGS[name]
    assert convention(make_rig(tree, sides)) == name


def test_names_of_no_convention() -> None:
    rig = make_rig("joint0 0 0 0\n joint1 0 10 0\n  joint2 0 20 0", ("L", "R"))
    assert convention(rig) == UNKNOWN


def test_every_convention_has_a_rig_here() -> None:
    variants = {"CMU for 3ds Max", "Xsens BVH", "Unity", "Kinect, first"}
    assert {joints.name for joints in CONVENTIONS} - variants == set(RIGS)


def test_rigify_originals_do_not_stand_in_for_deforming_bones() -> None:
    tree = """
        root 0 0 0
         ORG-spine 0 100 0
          ORG-thigh.L 9 95 0
           ORG-shin.L 9 53 0
            ORG-foot.L 9 9 0
          ORG-thigh.R -9 95 0
           ORG-shin.R -9 53 0
            ORG-foot.R -9 9 0
         DEF-spine 0 100 0
          DEF-thigh.L 9 95 0
           DEF-shin.L 9 53 0
            DEF-foot.L 9 9 0
          DEF-thigh.R -9 95 0
           DEF-shin.R -9 53 0
            DEF-foot.R -9 9 0
        """
    rig = make_rig(tree, ("L", "R"))
    joints = roles(rig)
    assert rig.names[joints["left_upper_leg"]] == "DEF-thigh.L"
    assert rig.names[joints["right_foot"]] == "DEF-foot.R"
    assert rig.names[joints["hips"]] == "DEF-spine"


def test_numbered_limbs_are_told_by_their_order() -> None:
    tree = """
        torso_joint_1 0 100 0
         torso_joint_2 0 115 0
          torso_joint_3 0 130 0
           neck_joint_1 0 148 0
           arm_joint_*_1 15 140 0
            arm_joint_*_2 42 140 0
             arm_joint_*_3 68 140 0
         leg_joint_*_1 9 97 0
          leg_joint_*_2 9 53 0
           leg_joint_*_3 9 9 0
            leg_joint_*_5 9 2 12
        """
    rig = make_rig(tree, ("L", "R"))
    joints = {part: rig.names[joint] for part, joint in roles(rig).items()}
    assert joints["left_upper_arm"] == "arm_joint_L_1"
    assert joints["right_lower_arm"] == "arm_joint_R_2"
    assert joints["left_hand"] == "arm_joint_L_3"
    assert joints["left_upper_leg"] == "leg_joint_L_1"
    assert joints["right_lower_leg"] == "leg_joint_R_2"
    assert joints["left_foot"] == "leg_joint_L_3"
    assert joints["right_toe"] == "leg_joint_R_5"


@pytest.mark.parametrize(
    ("name", "said", "which"),
    [
        ("L5", ("vertebra", "l5"), ""),
        ("jT9T8", ("vertebra", "jt9t8"), ""),
        ("LEG", ("leg",), ""),
        ("LHAND", ("l", "hand"), "left"),
        ("ROOT", ("root",), ""),
        ("Bip01 R Toe0", ("bip", "01", "r", "toe", "0"), "right"),
        ("左足首", ("left", "ankle"), "left"),
        ("右ひざ", ("right", "knee"), "right"),
        ("Rt_Hip", ("rt", "hip"), "right"),
    ],
)
def test_words_of_odd_names(name: str, said: tuple[str, ...], which: str) -> None:
    assert words(name) == said
    assert side(name) == which
