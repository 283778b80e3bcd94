package dev.isthmus.gateway.problems;

import java.time.Instant;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Something that is wrong, in words for operators.
 *
 * @param subject what it concerns, such as {@code model}, {@code upstream}, {@code server}, {@code caller}; identifies
 *     the problem among those of its kind
 * @param since null until it is known
 * @param share of failed calls, from 0 to 1; null if it is not about calls
 * @param text what is wrong, as one sentence
 * @param nextStep what an operator should do
 * @param command for a shell; empty for none
 * @param page of the console, with its query
 */
record GatewayProblem(
        ProblemKind kind,
        ProblemSeverity severity,
        Map<String, String> subject,
        @Nullable Instant since,
        @Nullable Double share,
        String text,
        String cause,
        String nextStep,
        String command,
        String page) {
    static final Comparator<GatewayProblem> WORST_FIRST = Comparator.comparing(GatewayProblem::severity)
            .thenComparing(GatewayProblem::kind)
            .thenComparing(problem -> problem.share == null ? 0 : -problem.share)
            .thenComparing(GatewayProblem::text);

    GatewayProblem {
        subject = Collections.unmodifiableMap(new LinkedHashMap<>(subject));
    }

    /** A problem as bad as its kind says, that is not about calls and begins when it is found. */
    GatewayProblem(
            ProblemKind kind, Map<String, String> subject, String text, String cause, String nextStep, String page) {
        this(kind, kind.severity(), subject, null, null, text, cause, nextStep, kind.command(), page);
    }

    /** @param pairs names and values; one whose value is null is left out */
    static Map<String, String> subject(@Nullable String... pairs) {
        Map<String, String> subject = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            String value = pairs[i + 1];
            if (value != null) {
                subject.put(String.valueOf(pairs[i]), value);
            }
        }
        return subject;
    }

    /** Identifies a problem as long as it lasts. */
    record ProblemKey(ProblemKind kind, Map<String, String> subject) {}

    ProblemKey key() {
        return new ProblemKey(kind, subject);
    }

    GatewayProblem since(@Nullable Instant time) {
        return new GatewayProblem(kind, severity, subject, time, share, text, cause, nextStep, command, page);
    }

    GatewayProblem share(@Nullable Double failed) {
        return new GatewayProblem(kind, severity, subject, since, failed, text, cause, nextStep, command, page);
    }

    GatewayProblem command(String shell) {
        return new GatewayProblem(kind, severity, subject, since, share, text, cause, nextStep, shell, page);
    }

    GatewayProblem critical(boolean critical) {
        ProblemSeverity other = critical ? ProblemSeverity.CRITICAL : ProblemSeverity.WARNING;
        return new GatewayProblem(kind, other, subject, since, share, text, cause, nextStep, command, page);
    }
}
