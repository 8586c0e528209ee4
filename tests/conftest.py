"""Settings that every test shares."""

from __future__ import annotations

from hypothesis import settings

# Kernels compile at their first call, and the same examples are tried every time.
settings.register_profile("markovdro", deadline=None, derandomize=True)
settings.load_profile("markovdro")
