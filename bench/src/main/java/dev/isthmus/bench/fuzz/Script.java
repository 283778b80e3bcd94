package dev.isthmus.bench.fuzz;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * What a client does with one connection, from its opening to its end. It is made of its seed alone, so that the seed is all
 * that has to be kept of it.
 */
record Script(long seed, Kind kind, List<Step> steps) {
    /** How a sequence is made. */
    enum Kind {
        /** Requests over HTTP/1.1, of any operation. */
        HTTP1,
        /** REST and gRPC over HTTP/2, and frames of any kind. */
        HTTP2;

        String text() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * The end of a connection is behind its bytes: where the gateway reads no more of them than fit into the socket's buffers,
     * it cannot know that the client has gone. A reset comes through.
     */
    private static final int MOST_BEHIND = 64 << 10;

    Script {
        steps = List.copyOf(steps);
    }

    static Script of(long seed) {
        Dice dice = new Dice(seed);
        Kind kind = dice.pick(Kind.values());
        byte[] bytes = switch (kind) {
            case HTTP1 -> new Http1Requests(dice).sequence();
            case HTTP2 -> new Http2Frames(dice).sequence();
        };
        return new Script(seed, kind, steps(dice, bytes));
    }

    private static List<Step> steps(Dice dice, byte[] bytes) {
        List<Step> steps = new ArrayList<>();
        if (dice.chance(0.08)) {
            steps.add(new Step.Deaf());
        }
        switch (dice.below(8)) {
            case 0 -> // a byte at a time, for a while
                steps.add(new Step.Send(head(bytes, 400), 1, dice.below(3)));
            case 1 -> steps.add(new Step.Send(bytes, 1 + dice.size(4096), dice.chance(0.3) ? 1 : 0));
            case 2 -> {
                steps.add(new Step.Send(head(bytes, dice.below(bytes.length + 1))));
                steps.add(new Step.Pause(dice.size(3_000)));
            }
            default -> steps.add(new Step.Send(bytes));
        }
        switch (dice.below(6)) {
            case 0 -> steps.add(new Step.Reset());
            case 1 -> steps.add(new Step.HalfClose());
            case 2 -> steps.add(new Step.Pause(dice.size(256)));
            default -> steps.add(new Step.Await(dice.size(2_000)));
        }
        if (steps.getLast() instanceof Step.HalfClose) {
            steps.add(new Step.Await(dice.size(2_000)));
        } else if (dice.chance(0.2) || bytes.length > MOST_BEHIND) {
            steps.add(new Step.Reset());
        }
        return steps;
    }

    private static byte[] head(byte[] bytes, int length) {
        return Arrays.copyOf(bytes, Math.min(length, bytes.length));
    }
}
