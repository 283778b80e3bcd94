package dev.isthmus.gateway.identity;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.Locale;

/** Why a caller is not identified. Clients learn only the kind; the metric has the reason. */
enum CredentialFailure {
    MISSING(Texts.REQUIRED),
    MALFORMED(Texts.INVALID),
    UNKNOWN_KEY(Texts.INVALID),
    ALGORITHM(Texts.INVALID),
    /** The issuer has no such key, as of the last fetch. */
    UNKNOWN_SIGNING_KEY(Texts.INVALID),
    SIGNATURE(Texts.INVALID),
    ISSUER(Texts.INVALID),
    AUDIENCE(Texts.INVALID),
    NO_NAME(Texts.INVALID),
    NOT_YET_VALID(Texts.INVALID),
    EXPIRED("the credential has expired"),
    /** The issuer's keys are being fetched, or could never be. */
    KEYS_UNAVAILABLE("the credential cannot be checked now");

    private static final Duration SOON = Duration.ofSeconds(1);

    private final String text;

    CredentialFailure(String text) {
        this.text = text;
    }

    private static final class Texts {
        static final String REQUIRED = "a credential is required";
        static final String INVALID = "the credential is not valid";
    }

    /** The label in metrics. */
    String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** The failure of the request. */
    OipException refusal() {
        return this == KEYS_UNAVAILABLE
                ? OipException.refused(ErrorCode.UNAVAILABLE, text, SOON)
                : new OipException(ErrorCode.UNAUTHENTICATED, text);
    }
}
