"""3A (Madl, Xu, Choudhury and Howard, 2022): ClustMix as published, beside what is sound. Reads rows WITHOUT the doors."""
