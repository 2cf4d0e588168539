"""The security analysis: what the choice costs to guess, exactly and measured.

From the bottom up: `sampling` (the law of S_ℓ and its distance from uniform),
`moduli` (toy moduli, honest and hostile, and real-size ones), `bayes` (the
observer of one y), `convolution` (of T of them), `samples` (Monte-Carlo data),
`leakage` (the observer with a stopwatch) and `claims`.

Nothing here is needed to run the protocol.
"""
