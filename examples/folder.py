"""Put a folder of motions onto one body. Run it again, and clips that are done are not done again."""

from pathlib import Path

import understudy as u

Path("clips").mkdir(exist_ok=True)
for name in ("walk", "march", "squat"):
    u.write(u.samples.motion(name, seconds=2.0).motion, f"clips/{name}.bvh", unit="cm")
rows = u.batch("clips", "sample:child", "on_child")
for row in sorted(rows, key=lambda row: row["clip"]):
    print(row["clip"], row["status"], row["output"])
