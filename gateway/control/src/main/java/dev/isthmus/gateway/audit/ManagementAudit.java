package dev.isthmus.gateway.audit;

import dev.isthmus.gateway.audit.AuditLog.AuditActor;
import dev.isthmus.gateway.audit.AuditLog.AuditActor.ActorKind;
import dev.isthmus.gateway.audit.AuditLog.AuditedChange;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.oip.ErrorCode;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;

/**
 * Records the calls that change servers: load and unload of models, settings of their logs and traces. A call that its
 * caller is not allowed to make is in the access log only, as others could otherwise fill this one.
 */
public record ManagementAudit(AuditLog log) {
    private static final Set<Extension> AUDITED = EnumSet.of(
            Extension.REPOSITORY_LOAD, Extension.REPOSITORY_UNLOAD, Extension.TRACE_SETTING, Extension.LOG_SETTINGS);

    /** The outcome of such a call is known. */
    public void finished(CallContext call, Operation.Manage manage) {
        if (manage.change()
                && AUDITED.contains(manage.extension())
                && call.code() != ErrorCode.UNAUTHENTICATED
                && call.code() != ErrorCode.PERMISSION_DENIED) {
            record(call, manage);
        }
    }

    private void record(CallContext call, Operation.Manage manage) {
        Principal caller = call.principal();
        AuditActor actor = new AuditActor(
                ActorKind.CALLER, caller.name(), "", "", Objects.requireNonNullElse(call.peerText(), ""));
        ErrorCode code = call.code();
        log.record(
                actor,
                new AuditedChange(
                        action(manage.extension()),
                        manage.model().name(),
                        "",
                        code == null ? after(manage.extension()) : "",
                        code == null ? "" : code + ": " + call.reason()));
    }

    private static String action(Extension extension) {
        return switch (extension) {
            case REPOSITORY_LOAD -> "model load";
            case REPOSITORY_UNLOAD -> "model unload";
            case TRACE_SETTING -> "trace settings of servers";
            default -> "log settings of servers";
        };
    }

    private static String after(Extension extension) {
        return switch (extension) {
            case REPOSITORY_LOAD -> "loaded";
            case REPOSITORY_UNLOAD -> "unloaded";
            default -> "";
        };
    }
}
