from hypothesis import settings

# The same examples on every run, and no failure because the machine was busy.
settings.register_profile("elmokit", deadline=None, derandomize=True)
settings.load_profile("elmokit")
