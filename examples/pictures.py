"""Small pictures with labels: squares and crosses."""

import numpy as np

import sfumato as sf

rng = np.random.default_rng(5)
n, side = 500, 8
labels = rng.integers(0, 2, n)
pictures = rng.integers(0, 60, (n, side, side)).astype(np.uint8)
for picture, label in zip(pictures, labels, strict=True):
    top, left = rng.integers(0, 3, 2)
    inside = picture[top : top + 6, left : left + 6]
    if label:
        np.fill_diagonal(inside, 255)
        np.fill_diagonal(np.fliplr(inside), 255)
    else:
        inside[[0, -1]] = 255
        inside[:, [0, -1]] = 255

schema = sf.Schema.parse("""
[dataset]
target = "shape"
rows = 500
[columns.picture]
type = "image"
shape = [8, 8]
[columns.shape]
type = "categorical"
categories = ["square", "cross"]
""")
names = np.array(["square", "cross"])[labels]
made = sf.synthesize({"picture": pictures, "shape": names}, schema, epsilon=4.0)

synthetic = made.synthetic
print(synthetic.images.shape, "pictures, pixels within", (synthetic.images.min(), synthetic.images.max()))
middle = [synthetic.images[synthetic.labels == code][:, 3:5, 3:5].mean() for code in (0, 1)]
print(f"mean of the four pixels in the middle: squares {middle[0]:.0f}, crosses {middle[1]:.0f}")
assert middle[1] > middle[0] + 30
made.save("pictures-release")
assert sf.verify("pictures-release", rebuild=False).ok
