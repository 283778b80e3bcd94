package dev.isthmus.gateway.identity;

import dev.isthmus.gateway.net.Labelled;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.OipException;
import java.time.Duration;

/** Why a caller is not identified. Clients learn only the kind; the metric has the reason. */
enum CredentialFailure implements Labelled {
    MISSING("a credential is required", false, ErrorCode.UNAUTHENTICATED),
    MALFORMED(true),
    UNKNOWN_KEY(false),
    ALGORITHM(true),
    /** The issuer has no such key, as of the last fetch. */
    UNKNOWN_SIGNING_KEY(false),
    SIGNATURE(true),
    ISSUER(true),
    AUDIENCE(true),
    NO_NAME(true),
    NOT_YET_VALID(false),
    /** Too many tokens of this address had a wrong signature. */
    TOO_MANY_FAILURES("too many credentials were not valid", false, ErrorCode.RESOURCE_EXHAUSTED),
    EXPIRED("the credential has expired", false, ErrorCode.UNAUTHENTICATED),
    /** The issuer's keys are being fetched, or could never be. */
    KEYS_UNAVAILABLE("the credential cannot be checked now", false, ErrorCode.UNAVAILABLE);

    private static final Duration SOON = Duration.ofSeconds(1);

    private final String text;
    private final boolean lasts;
    private final ErrorCode code;

    CredentialFailure(boolean lasts) {
        this("the credential is not valid", lasts, ErrorCode.UNAUTHENTICATED);
    }

    CredentialFailure(String text, boolean lasts, ErrorCode code) {
        this.text = text;
        this.lasts = lasts;
        this.code = code;
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
