package dev.isthmus.gateway.identity;

/** A credential does not identify anybody. Has no text and no cause: both might repeat parts of the credential. */
final class CredentialException extends Exception {
    private static final long serialVersionUID = 1L;

    private final CredentialFailure failure;

    CredentialException(CredentialFailure failure) {
        super(failure.label(), null, false, false);
        this.failure = failure;
    }

    CredentialFailure failure() {
        return failure;
    }
}
