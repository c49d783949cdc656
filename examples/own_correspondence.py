"""Say yourself which bones correspond: the target's by the names of the source's, one bone or a chain."""

import understudy as u

names = {"Hips": "Hips", "Spine": "Spine", "Neck": "Neck", "Head": "Head"}
for side in ("Left", "Right"):
    names |= {f"{side}UpLeg": f"{side}Thigh", f"{side}Leg": f"{side}Shin"}
    names |= {f"{side}Foot": (f"{side}Metatarsus", f"{side}HindPaw")}
    names |= {f"{side}Arm": f"{side}UpperArm", f"{side}ForeArm": f"{side}Forearm"}

result = u.retarget("sample:walk", "sample:dog", correspondence=names)
print(*result.notes, result.result, sep="\n")
result.write("dog.bvh")
