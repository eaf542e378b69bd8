# SPDX-License-Identifier: Apache-2.0
"""One file per network family; each builds its graph with builder.Builder."""
