package dev.isthmus.gateway.settings;

import java.time.Duration;

/** How the gateway ends on SIGTERM. Together shorter than the 30 s after which Kubernetes kills a process by default. */
@Doc("The end of the gateway on SIGTERM. The sum of both must be shorter than the time after which the process is "
        + "killed: terminationGracePeriodSeconds in Kubernetes, 30 s by default.")
public record Drain(
        @Doc("Time during which the gateway reports itself not ready and serves as before, so that load balancers "
                + "stop sending to it. 0s: none. SIGINT skips it.")
        @OrZero
        @Default("5s")
        Duration delay,

        @Doc("Time for calls to end, after which the rest fail with UNAVAILABLE, or 503. 0s: they fail at once.")
        @OrZero
        @Default("20s")
        Duration timeout) {}
