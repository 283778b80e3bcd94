package dev.isthmus.bench.fuzz;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** The steps of a client on one connection. Determined by its seed alone, so that only the seed needs to be saved. */
record Script(long seed, Kind kind, List<Step> steps) {
    /** Kinds of sequences. */
    enum Kind {
        /** HTTP/1.1 requests of any operation. */
        HTTP1,
        /** REST and gRPC over HTTP/2, and random frames. */
        HTTP2;

        String text() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * FIN arrives after all bytes: if more bytes are unread than fit into the socket's buffers, the gateway cannot
     * notice that the client has closed. RST is noticed.
     */
    private static final int MOST_BEHIND = 64 << 10;

    Script {
        steps = List.copyOf(steps);
    }

    static Script of(long seed) {
        SeededChoices choices = new SeededChoices(seed);
        Kind kind = choices.pick(Kind.values());
        byte[] bytes = switch (kind) {
            case HTTP1 -> new Http1Requests(choices).sequence();
            case HTTP2 -> new Http2Frames(choices).sequence();
        };
        return new Script(seed, kind, steps(choices, bytes));
    }

    private static List<Step> steps(SeededChoices choices, byte[] bytes) {
        List<Step> steps = new ArrayList<>();
        if (choices.chance(0.08)) {
            steps.add(new Step.Deaf());
        }
        switch (choices.below(8)) {
            case 0 -> // a byte at a time, at the beginning
                steps.add(new Step.Send(head(bytes, 400), 1, choices.below(3)));
            case 1 -> steps.add(new Step.Send(bytes, 1 + choices.size(4096), choices.chance(0.3) ? 1 : 0));
            case 2 -> {
                steps.add(new Step.Send(head(bytes, choices.below(bytes.length + 1))));
                steps.add(new Step.Pause(choices.size(3_000)));
            }
            default -> steps.add(new Step.Send(bytes));
        }
        switch (choices.below(6)) {
            case 0 -> steps.add(new Step.Reset());
            case 1 -> steps.add(new Step.HalfClose());
            case 2 -> steps.add(new Step.Pause(choices.size(256)));
            default -> steps.add(new Step.Await(choices.size(2_000)));
        }
        if (steps.getLast() instanceof Step.HalfClose) {
            steps.add(new Step.Await(choices.size(2_000)));
        } else if (choices.chance(0.2) || bytes.length > MOST_BEHIND) {
            steps.add(new Step.Reset());
        }
        return steps;
    }

    private static byte[] head(byte[] bytes, int length) {
        return Arrays.copyOf(bytes, Math.min(length, bytes.length));
    }
}
