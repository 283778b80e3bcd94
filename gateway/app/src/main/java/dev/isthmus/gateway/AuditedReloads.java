package dev.isthmus.gateway;

import dev.isthmus.gateway.audit.AuditActor;
import dev.isthmus.gateway.audit.AuditLog;
import dev.isthmus.gateway.audit.AuditedChange;
import dev.isthmus.gateway.reload.ReloadResult;

/** Reloads with an entry in the audit log. */
public final class AuditedReloads {
    private static final String ACTION = "reload";

    private final Gateway gateway;
    private final AuditLog audit;

    AuditedReloads(Gateway gateway, AuditLog audit) {
        this.gateway = gateway;
        this.audit = audit;
    }

    /**
     * A reload that the process begins.
     *
     * @param cause such as "SIGHUP"
     */
    public void reload(String cause) {
        long before = gateway.current().number();
        audit.record(AuditActor.process(cause), change(before, gateway.reload()));
    }

    /** How a reload ended. */
    static AuditedChange change(long before, ReloadResult result) {
        return switch (result) {
            case ReloadResult.Applied applied ->
                AuditedChange.done(
                        ACTION,
                        "configuration",
                        "generation " + before,
                        "generation " + applied.generation() + changes(applied));
            case ReloadResult.Rejected rejected ->
                AuditedChange.refused(ACTION, "configuration", String.join("; ", rejected.problems()));
        };
    }

    private static String changes(ReloadResult.Applied applied) {
        return applied.changes().isEmpty() ? ", nothing changed" : ": " + String.join("; ", applied.changes());
    }
}
