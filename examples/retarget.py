"""Make a child perform an adult's walk."""

import understudy as u

u.write(u.samples.motion("walk").motion, "walk.bvh", unit="cm")  # a file of yours does as well

result = u.retarget("walk.bvh", "sample:child")
print(result.summary())
for loss in result.write("child_walk.bvh"):
    print("the file does not keep:", loss)
