"""Faults of the kernel: noise, streams, clips, coins, choices, responses, votes, charges."""
# ruff: noqa: E501 - patches stand here as they stand in the source

from mutants.mutant import Mutant

_PRIMITIVES, _CLIP, _VIEW = "private/kernel/primitives.py", "private/kernel/clip.py", "private/view.py"
_RANDOMNESS, _SAMPLING, _CHOICE = (f"private/kernel/{name}.py" for name in ("randomness", "sampling", "choice"))
_NOISY = "return private_sum + self.noise(private_sum.shape)"
_DRAWN = "return rounded_gaussian(int(np.prod(shape)), source=self.source).reshape(shape)"


def _mutant(
    name: str, why: str, *edits: tuple[str, str, str], tests: tuple[str, ...] = (), probes: tuple[str, ...] = ()
):
    return Mutant(name=name, room="kernel", why=why, edits=edits, tests=tests, probes=probes)


KERNEL = (
    _mutant(
        "halved noise",
        "every epsilon doubles",
        (_PRIMITIVES, _NOISY, "return private_sum + self.noise(private_sum.shape) // 2"),
        probes=("histograms",),
    ),
    _mutant(
        "no noise", "exact sums come out", (_PRIMITIVES, _NOISY, "return private_sum.copy()"), probes=("histograms",)
    ),
    _mutant(
        "a tenth less noise",
        "epsilon grows by a tenth",
        (_PRIMITIVES, _NOISY, "return private_sum + self.noise(private_sum.shape) * 9 // 10"),
        probes=("histograms",),
    ),
    _mutant(
        "float noise",
        "the holes of floating-point numbers show the sum",
        (_PRIMITIVES, _DRAWN, "return (np.random.default_rng().normal(size=shape) * 2.0**20).astype(np.int64)"),
        tests=("tests/private/test_noise.py", "-k", "floating or nowhere_else"),
    ),
    _mutant(
        "one noise for all entries",
        "differences of entries are exact",
        (_PRIMITIVES, _DRAWN, "return np.full(shape, rounded_gaussian(1, source=self.source)[0])"),
        probes=("histograms",),
    ),
    _mutant(
        "a reused stream",
        "the noise of one release is that of the next",
        (
            _PRIMITIVES,
            _DRAWN,
            "return rounded_gaussian(int(np.prod(shape)), source=NoiseSource(research_seed=7)).reshape(shape)",
        ),
        probes=("mixtures",),
    ),
    _mutant(
        "one-sided noise",
        "a sum is never above its answer",
        (
            "private/kernel/gaussian.py",
            "(word >> np.uint64(31)) & np.uint64(1)",
            "(word >> np.uint64(31)) & np.uint64(0)",
        ),
        tests=("tests/private/test_noise.py", "-k", "draws_follow"),
    ),
    _mutant(
        "a table of narrower noise",
        "the noise is half of what it should be",
        (
            "private/kernel/gaussian.py",
            "InversionTable.from_thresholds(cell_thresholds())",
            "InversionTable.from_thresholds(cell_thresholds()[1::2])",
        ),
        tests=("tests/private/test_noise.py", "-k", "draws_follow or thresholds"),
        probes=("histograms",),
    ),
    _mutant(
        "a key that everybody knows",
        "anyone can subtract the noise",
        (_RANDOMNESS, "super().__init__(seeded or os.urandom(32))", "super().__init__(seeded or bytes(32))"),
        tests=("tests/private/test_noise.py", "-k", "research_streams"),
    ),
    _mutant(
        "a fork repeats its parent",
        "two processes have the same noise",
        (
            _RANDOMNESS,
            "        super().__init__(os.urandom(32))\n        self._one_at_a_time = threading.Lock()\n        self._process",
            "        self._process",
        ),
        tests=("tests/private/test_row_alone.py", "-k", "forked"),
    ),
    _mutant(
        "a known seed passes for a secret one",
        "a release is certified though its noise can be subtracted",
        (
            _RANDOMNESS,
            "self.is_secure, self._process = research_seed is None, os.getpid()",
            "self.is_secure, self._process = True, os.getpid()",
        ),
        tests=("tests/private/test_kernel.py", "-k", "research or own"),
    ),
    _mutant(
        "any stream certifies",
        "a stream of zeros is called secret",
        (
            _RANDOMNESS,
            'return type(source) is NoiseSource and "words" not in vars(source) and source.is_secure',
            "return source.is_secure",
        ),
        tests=("tests/private/test_kernel.py", "-k", "research or own"),
    ),
    _mutant(
        "any primitives certify",
        "broken doors are stamped as honest",
        (_PRIMITIVES, "if not self.may_travel:", "if False:"),
        tests=("tests/private/test_kernel.py", "-k", "own"),
    ),
    _mutant(
        "no clip",
        "one row is as long as it likes",
        (_CLIP, "scale = units if norm <= l2_bound else units * (l2_bound / norm)", "scale = units"),
        (
            _CLIP,
            "        if _truncate(rows[i], low, scale, out[i]) > limit:\n            out[i, :] = 0\n",
            "        _truncate(rows[i], low, scale, out[i])\n",
        ),
        tests=("tests/private/test_doors.py", "-k", "no_row_on_the_grid"),
        probes=("clipped",),
    ),
    _mutant(
        "a clip three times as wide",
        "a row counts three times",
        (
            _PRIMITIVES,
            "return clip.clip_to_grid(values, block=block, noise_multiplier=noise_multiplier)",
            "return 3 * clip.clip_to_grid(values, block=block, noise_multiplier=noise_multiplier)",
        ),
        probes=("clipped",),
    ),
    _mutant(
        "a clip by the largest entry",
        "a row of many entries is too long",
        (_CLIP, "        square += value * value\n", "        square = max(square, value * value)\n"),
        (
            _CLIP,
            "        if _truncate(rows[i], low, scale, out[i]) > limit:\n            out[i, :] = 0\n",
            "        _truncate(rows[i], low, scale, out[i])\n",
        ),
        tests=("tests/private/test_doors.py", "-k", "no_row_on_the_grid"),
        probes=("clipped",),
    ),
    _mutant(
        "no clip of products",
        "a product of vectors is as long as it likes",
        (_CLIP, "kept = min(norm_u * norm_v, l2_bound)", "kept = norm_u * norm_v"),
        (_CLIP, "if total_u > FINE_NORM**2 or total_v > FINE_NORM**2:", "if total_v > FINE_NORM**2:"),
        tests=("tests/private/test_doors.py", "-k", "outer"),
    ),
    _mutant(
        "codes count twice",
        "a row that repeats a code counts twice there",
        (_CLIP, "if codes[i, j] >= 0 and codes[i, j] == codes[i, j - 1]:", "if codes[i, j] < -1:"),
        tests=("tests/private/test_doors.py", "-k", "codes"),
    ),
    _mutant(
        "codes that stand still pass for rising",
        "a row that repeats a code counts twice there",
        (_CLIP, "rises &= codes[i, j] > last", "rises &= codes[i, j] >= last"),
        tests=("tests/private/test_doors.py", "-k", "codes"),
    ),
    _mutant(
        "codes outside pass for rising",
        "a row counts in somebody else's memory",
        (_CLIP, "inside = values[i, j] >= 0 and values[i, j] < width", "inside = values[i, j] >= 0"),
        tests=("tests/private/test_doors.py", "-k", "past_the_largest"),
    ),
    _mutant(
        "codes of whole types that stand still pass for rising",
        "a row that repeats a code counts twice there",
        (_CLIP, "rises &= values[i, j] > values[i, j - 1]", "rises &= values[i, j] >= values[i, j - 1]"),
        tests=("tests/private/test_doors.py", "-k", "whole_types"),
    ),
    _mutant(
        "of codes that rise the last is not looked at",
        "a row counts in somebody else's memory",
        (_CLIP, "(values[i, 0] >= 0 and values[i, -1] < width)", "(values[i, 0] >= 0 and values[i, 0] < width)"),
        tests=("tests/private/test_doors.py", "-k", "whole_types"),
    ),
    _mutant(
        "weights twice as large",
        "a weighted row is too long",
        (
            _CLIP,
            "return np.array([math.isqrt(n_hot * units**2 // max(codes, 1))",
            "return np.array([2 * math.isqrt(n_hot * units**2 // max(codes, 1))",
        ),
        tests=("tests/private/test_doors.py", "-k", "weight"),
    ),
    _mutant(
        "no clip of gradients",
        "one gradient is as long as it likes",
        (_CLIP, "scale = torch.where(norm <= block.l2_bound, units, units * (block.l2_bound / norm))", "scale = units"),
        (_CLIP, "    values[~((values * values).sum(dim=1) <= 2.0 * limit)] = 0.0\n", ""),
        (_CLIP, "    integers[(integers * integers).sum(dim=1) > limit] = 0\n", ""),
        tests=("tests/private/test_gradients.py", "-k", "clip or attack or contract"),
    ),
    _mutant(
        "no clip of persons",
        "all rows of a person count in full",
        (_PRIMITIVES, "return together.shortened(lengths)", "return lengths"),
        tests=("tests/private/test_persons.py", "-k", "the_door_keeps_its_bound"),
    ),
    _mutant(
        "persons torn at the ends of batches",
        "a person is clipped once in each batch",
        (
            "private/kernel/persons.py",
            "complete = int(np.searchsorted(numbers, numbers[-1])) if len(numbers) else 0  # the last one may go on",
            "complete = len(numbers)",
        ),
        tests=("tests/private/test_persons.py", "-k", "two_batches"),
    ),
    _mutant(
        "persons twice as long",
        "a person may move a sum by twice the bound",
        (
            "private/kernel/persons.py",
            "limit = math.floor(self.bound**2 * (block.n_hot * int(units) ** 2))",
            "limit = math.floor(4 * self.bound**2 * (block.n_hot * int(units) ** 2))",
        ),
        tests=("tests/private/test_persons.py", "-k", "no_person_moves or the_door_keeps"),
    ),
    _mutant(
        "one subset for all mixtures",
        "the class-wise generator as published: averaging takes the noise away",
        (
            _PRIMITIVES,
            "return sampling.coins(key, first=first, n_rows=n_rows, n_coins=n_coins, rate=rate)",
            "return (sampling.coins(key, first=first, n_rows=n_rows, n_coins=1, rate=rate)[:, None] * n_coins + np.arange(n_coins)).ravel()",
        ),
        probes=("mixtures",),
    ),
    _mutant(
        "twice the rate",
        "rows take part twice as often as accounted",
        (_SAMPLING, "    table = _gap_table(rate)\n", "    table = _gap_table(min(0.99, 2 * rate))\n"),
        tests=("tests/private/test_sampling.py", "-k", "heads_at_their_rate"),
        probes=("mixtures",),
    ),
    _mutant(
        "a fixed batch booked as coins",
        "who takes part is known",
        (
            "private/kernel/membership.py",
            "return primitives.coins(step, key=key, first=first, n_rows=n_rows, n_coins=1, rate=step.sampling.rate)",
            "return np.arange(round(n_rows * step.sampling.rate))",
        ),
        tests=("tests/private/test_gradients.py", "-k", "contract"),
    ),
    _mutant(
        "shuffled mixtures booked as coins",
        "every row is in as many mixtures as any other",
        (
            "private/kernel/membership.py",
            "return lambda first, n_rows: np.divmod(coins(first=first, n_rows=n_rows), n_mixtures)",
            "return lambda first, n_rows: (np.repeat(np.arange(n_rows), max(1, round(rate * n_mixtures))), np.tile(np.arange(max(1, round(rate * n_mixtures))), n_rows))",
        ),
        tests=("tests/private/test_doors.py", "-k", "mixtures or poisson"),
        probes=("mixtures",),
    ),
    _mutant(
        "the same subset again and again",
        "averaging takes the noise away",
        (
            _PRIMITIVES,
            "return sampling.subsets(n_subsets, size=size, population=population, source=KeyStream(key))",
            "return np.repeat(sampling.subsets(1, size=size, population=population, source=KeyStream(key)), n_subsets, axis=0)",
        ),
        probes=("fixed",),
    ),
    _mutant(
        "a row twice in one subset",
        "a row counts twice in a mixture",
        (_SAMPLING, "if seen[choice] == first + j:", "if False:"),
        tests=("tests/private/test_sampling.py", "-k", "subsets"),
    ),
    _mutant(
        "loaded dice",
        "teachers and bins are not who they should be",
        (
            _PRIMITIVES,
            "return sampling.dice(key, first=first, n_rows=n_rows, sides=sides)",
            "return sampling.dice(key, first=first, n_rows=n_rows, sides=sides) // 2",
        ),
        probes=("bins",),
    ),
    _mutant(
        "the best is chosen",
        "a selection that was never charged",
        (
            _PRIMITIVES,
            "return choice.chosen(private_scores, rate=rate, source=self.source)",
            "return int(np.argmax(private_scores))",
        ),
        probes=("choices",),
    ),
    _mutant(
        "choices at twice their rate",
        "a choice follows its scores too closely",
        (
            _CHOICE,
            "if _happens(rate * (best - private_scores[at]), source=source):",
            "if _happens(2 * rate * (best - private_scores[at]), source=source):",
        ),
        tests=("tests/private/test_choice.py", "-k", "odds or rate"),
        probes=("choices",),
    ),
    _mutant(
        "codes stray into the next table",
        "a row counts twice in a table",
        (
            _CHOICE,
            "inside = (private_codes >= 0) & (private_codes < widths)",
            "inside = (private_codes >= 0) & (private_codes <= widths)",
        ),
        tests=("tests/private/test_choice.py", "-k", "moves_a_score or table"),
    ),
    _mutant(
        "responses twice as true",
        "a label is told twice as often as accounted",
        ("private/kernel/responses.py", "source=source) < parts", "source=source) < 2 * parts"),
        tests=("tests/private/test_reports.py", "-k", "odds"),
        probes=("reports",),
    ),
    _mutant(
        "a category that is never thrown",
        "whoever names it holds it",
        (
            "private/kernel/responses.py",
            "thrown = uniform_below(categories, count=count, source=source)",
            "thrown = uniform_below(max(1, categories - 1), count=count, source=source)",
        ),
        tests=("tests/private/test_reports.py", "-k", "odds"),
        probes=("reports",),
    ),
    _mutant(
        "reports in the order of the file",
        "the place of a report says whose it is",
        (
            "private/doors/reports.py",
            "return {name: reports[order] for name, reports in noisy.items()}",
            "return noisy",
        ),
        tests=("tests/private/test_reports.py", "-k", "order"),
    ),
    _mutant(
        "a code twice in a report",
        "it is told twice as often as accounted",
        (
            "private/doors/reports.py",
            "inside.all(axis=1, keepdims=True) & different, codes",
            "inside.all(axis=1, keepdims=True), codes",
        ),
        tests=("tests/private/test_reports.py", "-k", "twice or none"),
    ),
    _mutant(
        "one object as all teachers",
        "every teacher has seen every row",
        ("private/doors/votes.py", "yield _part(private_rows, private_part)", "yield private_rows"),
        tests=("tests/private/test_votes.py", "-k", "one_teacher or counted"),
    ),
    _mutant(
        "rows of a person with several teachers",
        "a person changes several votes",
        ("private/doors/votes.py", "np.concatenate(dice)[firsts][unit_of_row]", "np.concatenate(dice)"),
        tests=("tests/private/test_votes.py", "-k", "person"),
    ),
    _mutant(
        "a teacher that fails stops the run",
        "an error tells of a row",
        ("private/doors/votes.py", "            return np.full(self._planned.queries, _NO_VOTE)", "            raise"),
        tests=("tests/private/test_votes.py", "-k", "stumbles"),
    ),
    _mutant(
        "teachers tried on rows of another type",
        "training can do on private rows what it does not do on public ones",
        (
            "private/doors/votes.py",
            "(_part(rows.public, np.arange(start, start + n)) for start in (0, n))",
            "({k: v[start : start + n] for k, v in rows.public.items()} for start in (0, n))",
        ),
        tests=("tests/private/test_votes.py", "-k", "by_their_type or needs_a_dict"),
    ),
    _mutant(
        "one use free of charge",
        "a step is measured once more than it was paid for",
        (_VIEW, "if used >= step.uses:", "if used > step.uses:"),
        tests=("tests/private/test_doors.py", "-k", "planned"),
        probes=("histograms",),
    ),
    _mutant(
        "a View works in a fork",
        "what is spent there is not counted",
        (_VIEW, "if os.getpid() != self.__process:", "if False:"),
        tests=("tests/private/test_row_alone.py", "-k", "forked"),
    ),
    _mutant(
        "choices counted once for all maps",
        "a second map is answered from the first",
        (_VIEW, "if self.__kept.get(step.name, (None,))[0] is not per_record:", "if step.name not in self.__kept:"),
        tests=("tests/private/test_choice.py", "-k", "anew"),
    ),
    _mutant(
        "any unit opens the data",
        "rows are protected where persons should be",
        (_VIEW, "if plan.unit != data.schema.unit:", "if False:"),
        tests=("tests/private/test_persons.py", "-k", "another_unit"),
    ),
    _mutant(
        "no silence",
        "a library's complaint tells of a row",
        (
            "private/intake/quiet.py",
            "            _SHARED.enter_context(_all_silent())\n",
            "            pass\n",
        ),
        tests=("tests/private/test_row_alone.py", "-k", "says"),
        probes=("histograms",),
    ),
    _mutant(
        "maps are not tried",
        "a map that mixes rows has no bound",
        (
            "private/rows/row_alone.py",
            "            if one.keys() == two.keys() and all(_same(one[name][kept], two[name][places]) for name in one):\n",
            "            if True:\n",
        ),
        tests=("tests/private/test_doors.py", "-k", "mix_rows or depend"),
    ),
    _mutant(
        "a map's exception comes out",
        "a message holds a private value",
        (
            "private/rows/row_alone.py",
            "        except BaseException:  # noqa: BLE001 - whatever a map raises over private rows would be an output\n            return None\n",
            "        except MemoryError:\n            return None\n",
        ),
        tests=("tests/private/test_row_alone.py", "-k", "stumbles"),
    ),
    _mutant(
        "batches are not filled up",
        "the bits of a row follow the number of rows",
        ("private/rows/batches.py", "        if n_rows < self.rows:\n", "        if n_rows < 0:\n"),
        tests=("tests/private/test_row_alone.py", "-k", "one_shape"),
    ),
    _mutant(
        "rows can be written into",
        "one map changes the rows of the next",
        (
            "private/rows/row_alone.py",
            "        values.flags.writeable = False\n",
            "        values.flags.writeable = values.flags.writeable\n",
        ),
        tests=("tests/private/test_row_alone.py", "-k", "write"),
    ),
    _mutant(
        "texts without a threshold",
        "a name that one row holds is let out",
        ("private/doors/discovery.py", "[noisy > planned.threshold]", "[noisy > planned.units_per_row]"),
        tests=("tests/private/test_discovery.py", "-k", "common or single"),
    ),
    _mutant(
        "texts without noise",
        "the threshold shows one row",
        (
            "private/doors/discovery.py",
            "noisy = primitives.noisy(private_units * planned.units_per_row, step=TEXTS, block=name)",
            "noisy = private_units * planned.units_per_row",
        ),
        tests=("tests/private/test_discovery.py", "-k", "noise"),
    ),
)
