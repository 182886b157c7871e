"""The figures of the thesis."""

MAIN_ACCURACY, MAIN_EPSILON = 0.6835, 15.0
CLASS_COUNTS = (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)

#: Figure 4.3, l = 128, 1,200 a class: accuracy by noise, 0.2 to 3.0.
BY_NOISE = dict(
    zip(
        (round(0.1 * step, 1) for step in range(2, 31)),
        (0.7871, 0.7861, 0.7792, 0.7748, 0.7486, 0.7166, 0.6318, 0.6020, 0.5187, 0.4012, 0.3476, 0.3160, 0.2752, 0.2011, 0.1933,
         0.1433, 0.1604, 0.1596, 0.1514, 0.1424, 0.1292, 0.1305, 0.1223, 0.1288, 0.1273, 0.1007, 0.1179, 0.1259, 0.1278),
        strict=True,
    )
)  # fmt: skip

#: Table 4.2 and Figure 4.4, noise 0.7: accuracy by l.
BY_DEGREE = {32: 0.7748, 64: 0.7755, 128: 0.7929, 256: 0.7868, 512: 0.7856}

#: Figure 4.5, noise 0.7, l = 128: accuracy by T, all classes together.
BY_MIXTURES = dict(
    zip(
        range(2_500, 30_001, 2_500),
        (0.6312, 0.7351, 0.7725, 0.7768, 0.7863, 0.7874, 0.7894, 0.8007, 0.7993, 0.8020, 0.8115, 0.8056),
        strict=True,
    )
)
