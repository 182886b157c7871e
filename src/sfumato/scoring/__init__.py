"""A private score: what a learner that saw synthetic rows alone reaches on private rows that nothing else has measured."""
