# SPDX-License-Identifier: Apache-2.0
"""Turns published weights, or seeded random ones, into the ONNX files that Tandem works on."""

VERSION = "1"
