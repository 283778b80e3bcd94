package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.access.AccessDecision;
import dev.isthmus.gateway.access.AccessPolicy;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ForwardingService;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.metrics.AccessMetrics;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;

/** The layer that refuses what the caller may not do, by the parsed operation: the same for both protocols. */
final class Authorization extends ForwardingService {
    private final CallRules rules;
    private final boolean openHealth;

    /** @param openHealth whether probes of the server are not judged */
    Authorization(Service next, CallRules rules, boolean openHealth) {
        super(next);
        this.rules = rules;
        this.openHealth = openHealth;
    }

    /** The policy, and how refusals are counted and told. */
    record CallRules(AccessPolicy policy, AccessMetrics metrics) {

        /** @throws OipException PERMISSION_DENIED */
        void check(CallContext call, Permission permission, ModelRef model) {
            require(policy.onModel(call, permission, model), permission);
        }

        private void require(AccessDecision decision, Permission permission) {
            if (!decision.allowed()) {
                boolean unserved = policy.showsAllModels();
                metrics.refused(unserved ? "management" : "no_rule");
                throw new OipException(
                        ErrorCode.PERMISSION_DENIED,
                        unserved
                                ? "management operations (" + permission.label() + ") are not served on this address"
                                : "permission '" + permission.label() + "' is required");
            }
        }
    }

    @Override
    public void checkHead(CallContext call, Permission permission) {
        if (permission != Permission.HEALTH) {
            rules.require(rules.policy().onSomething(call, permission), permission);
        }
    }

    @Override
    public RequestSink open(Call call, Reply reply) {
        Operation operation = call.operation();
        if (!openHealth || !operation.probe()) {
            try {
                ModelRef model = operation.requestedModel();
                Permission permission = operation.permission();
                AccessPolicy policy = rules.policy();
                rules.require(
                        model == null
                                ? policy.onServer(call.context(), permission)
                                : policy.onModel(call.context(), permission, model),
                        permission);
            } catch (OipException refused) {
                reply.fail(refused);
                return RequestSink.ENDED;
            }
        }
        return super.open(call, reply);
    }
}
