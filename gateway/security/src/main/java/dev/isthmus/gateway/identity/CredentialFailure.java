package dev.isthmus.gateway.identity;

import dev.isthmus.gateway.net.Labelled;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.OipException;
import java.time.Duration;

/** Why a caller is not identified. Clients learn only the kind; the metric has the reason. */
enum CredentialFailure implements Labelled {
    MISSING(FailureTexts.REQUIRED, false),
    MALFORMED(FailureTexts.INVALID, true),
    UNKNOWN_KEY(FailureTexts.INVALID, false),
    ALGORITHM(FailureTexts.INVALID, true),
    /** The issuer has no such key, as of the last fetch. */
    UNKNOWN_SIGNING_KEY(FailureTexts.INVALID, false),
    SIGNATURE(FailureTexts.INVALID, true),
    ISSUER(FailureTexts.INVALID, true),
    AUDIENCE(FailureTexts.INVALID, true),
    NO_NAME(FailureTexts.INVALID, true),
    NOT_YET_VALID(FailureTexts.INVALID, false),
    /** Too many tokens of this address had a wrong signature. */
    TOO_MANY_FAILURES("too many credentials were not valid", false, ErrorCode.RESOURCE_EXHAUSTED),
    EXPIRED("the credential has expired", false),
    /** The issuer's keys are being fetched, or could never be. */
    KEYS_UNAVAILABLE("the credential cannot be checked now", false, ErrorCode.UNAVAILABLE);

    private static final Duration SOON = Duration.ofSeconds(1);

    private final String text;
    private final boolean lasts;
    private final ErrorCode code;

    CredentialFailure(String text, boolean lasts) {
        this(text, lasts, ErrorCode.UNAUTHENTICATED);
    }

    CredentialFailure(String text, boolean lasts, ErrorCode code) {
        this.text = text;
        this.lasts = lasts;
        this.code = code;
    }

    private static final class FailureTexts {
        static final String REQUIRED = "a credential is required";
        static final String INVALID = "the credential is not valid";
    }

    OipException refusal() {
        if (code == ErrorCode.UNAUTHENTICATED) {
            return new OipException(code, text);
        }
        OipException refusal = OipException.refused(code, text, SOON);
        return this == TOO_MANY_FAILURES ? refusal.because(FailureCause.UNAUTHENTICATED) : refusal;
    }

    /** Whether a token that failed so fails again as long as the issuer's keys are the same. */
    boolean lasts() {
        return lasts;
    }
}
