package dev.isthmus.bench.fuzz;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/**
 * Sends health requests and inference requests repeatedly and checks the responses. A health response that takes too
 * long is a failure. The scheduling delay of the gateway's threads is subtracted. A slow response does not count if
 * that was most of the time, or if the control, a byte through a loopback socket of this process, was slow at the same
 * time: then the machine was busy.
 */
final class HealthProbes implements AutoCloseable {
    private static final int HEALTH_MILLIS = 150;
    private static final int INFERENCE_MILLIS = 200;
    private static final int CONTROL_MILLIS = 50;

    private final int patienceMillis;
    private final ProbeRequests requests;
    private final ServerSocket echo = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    private final List<Probe> probes;
    private final Probe control;
    private final SchedulingDelay waits;
    private final List<Thread> threads = new ArrayList<>();
    private final List<String> failures = new ArrayList<>();
    /** Time when the control was last slow, as {@link System#nanoTime}. */
    private long excusedNanos = System.nanoTime() - Long.MAX_VALUE / 2;

    private long excused;
    private volatile boolean judging;
    private volatile boolean ended;

    /**
     * Starts the probes.
     *
     * @param patienceMillis time limit of a response
     */
    HealthProbes(int port, int adminPort, long pid, int patienceMillis) throws IOException {
        this.patienceMillis = patienceMillis;
        waits = new SchedulingDelay(pid);
        requests = new ProbeRequests(port);
        probes = List.of(
                new Probe(
                        "GET /v2/health/live, fresh",
                        HEALTH_MILLIS,
                        true,
                        () -> ProbeRequests.fresh(port, "/v2/health/live")),
                new Probe("GET /v2/health/live, kept", HEALTH_MILLIS, true, requests::kept),
                new Probe("ServerLive", HEALTH_MILLIS, true, requests::grpcLive),
                new Probe("GET /live, admin", HEALTH_MILLIS, true, () -> ProbeRequests.fresh(adminPort, "/live")),
                new Probe("infer, REST to gRPC", INFERENCE_MILLIS, false, requests::restEcho),
                new Probe("infer, gRPC to gRPC", INFERENCE_MILLIS, false, () -> requests.grpcEcho("echo")),
                new Probe("infer, gRPC to REST", INFERENCE_MILLIS, false, () -> requests.grpcEcho("echo-rest")));
        Thread.ofPlatform().daemon().name("fuzz-echo").start(this::echo);
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), echo.getLocalPort());
        socket.setTcpNoDelay(true);
        control = new Probe("control: a byte over loopback", CONTROL_MILLIS, false, () -> {
            socket.getOutputStream().write(1);
            return socket.getInputStream().read() == 1;
        });
        threads.add(Thread.ofPlatform().daemon().name("fuzz-control").start(() -> repeat(control)));
        probes.forEach(probe ->
                threads.add(Thread.ofPlatform().daemon().name("fuzz-probe").start(() -> repeat(probe))));
    }

    private void echo() {
        try (Socket socket = echo.accept()) {
            for (int read = socket.getInputStream().read();
                    read >= 0;
                    read = socket.getInputStream().read()) {
                socket.getOutputStream().write(read);
            }
        } catch (IOException e) {
            // closed
        }
    }

    private void repeat(Probe probe) {
        try {
            while (!ended) {
                judge(probe, probe.ask());
                if (probe == control) {
                    waits.look();
                }
                Thread.sleep(probe.periodMillis());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Exception e) {
            if (!ended) {
                fail(probe.name() + ": " + e);
            }
        }
    }

    private synchronized void judge(Probe probe, long millis) {
        long now = System.nanoTime();
        if (probe == control) {
            excusedNanos = millis > patienceMillis / 4 ? now : excusedNanos;
        } else if (judging && probe.timed() && millis > patienceMillis) {
            waits.look();
            long waited = waits.millisSince(now - millis * 1_000_000);
            boolean starved = waited > millis / 2 || millis - waited <= patienceMillis;
            if (starved || now - excusedNanos < (millis + 2L * CONTROL_MILLIS) * 1_000_000) {
                excused++;
            } else {
                fail(probe.name() + " took " + millis + " ms, of which " + waited + " without a processor, more than "
                        + patienceMillis);
            }
        }
    }

    /** Enforces the time limit from now on, after the warm-up. */
    void judge() {
        judging = true;
    }

    private synchronized void fail(String failure) {
        failures.add(failure);
    }

    /** The failures so far. */
    synchronized List<String> failures() {
        return List.copyOf(failures);
    }

    synchronized void print(PrintWriter out) {
        out.println("| probe | requests | refused | slowest, ms |\n|---|---|---|---|");
        probes.forEach(probe -> out.println(probe.line()));
        out.println(control.line());
        if (excused > 0) {
            out.println(excused + " responses were slow because the machine was busy");
        }
    }

    /** Stops the probes and closes their connections. */
    @Override
    public void close() throws IOException {
        ended = true;
        for (Thread thread : threads) {
            ThreadJoin.join(thread, 1_000);
        }
        requests.close();
        echo.close();
    }
}
