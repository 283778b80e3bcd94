package dev.isthmus.gateway.validation;

import dev.isthmus.oip.RequestOutline;
import java.util.List;

/**
 * What the servers of a model declare.
 *
 * @param signatures those that differ
 * @param complete whether those of all servers that may get a request are known; otherwise one may take what the others
 *     do not
 */
public record DeclaredSignatures(List<ModelSignature> signatures, boolean complete) {
    /** Nothing is known. */
    public static final DeclaredSignatures UNKNOWN = new DeclaredSignatures(List.of(), false);

    public DeclaredSignatures {
        signatures = List.copyOf(signatures);
    }

    /** Whether those of any server are known. */
    public boolean known() {
        return !signatures.isEmpty();
    }

    /** The differences of a request that no server takes, from what the first declares; empty if one takes it. */
    public List<RequestMismatch> mismatches(RequestOutline request) {
        List<RequestMismatch> first = List.of();
        for (int i = 0; i < signatures.size(); i++) {
            List<RequestMismatch> found = signatures.get(i).mismatches(request);
            if (found.isEmpty()) {
                return found;
            }
            first = i == 0 ? found : first;
        }
        return first;
    }
}
