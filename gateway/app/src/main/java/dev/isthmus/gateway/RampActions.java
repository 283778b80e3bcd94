package dev.isthmus.gateway;

import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.audit.AuditedChange;
import dev.isthmus.gateway.ramp.RampReport;
import dev.isthmus.gateway.ramp.RampState;
import dev.isthmus.gateway.ramp.Ramps;
import java.util.Locale;

/** What operators do to ramps: {@code /ramps/MODEL/pause}, resume, restart or rollback. */
record RampActions(Ramps ramps) {

    AdminResponse steer(AdminRequest request) {
        String path = request.tail();
        int slash = path.lastIndexOf('/');
        String model = slash < 0 ? path : path.substring(0, slash);
        String action = path.substring(slash + 1);
        String before = state(model);
        switch (action) {
            case "pause" -> ramps.pause(model);
            case "resume" -> ramps.resume(model);
            case "restart" -> ramps.restart(model);
            case "rollback" -> ramps.rollBack(model);
            default -> {
                return AdminResponse.error(
                        404, "expected /ramps/MODEL/ followed by pause, resume, restart or rollback");
            }
        }
        return AdminResponse.json(200, ramps.document())
                .changed(AuditedChange.done("ramp " + action, model, before, state(model)));
    }

    private String state(String model) {
        return ramps.reports().stream()
                .filter(each -> each.model().equals(model))
                .findFirst()
                .map(RampActions::text)
                .orElse("");
    }

    private static String text(RampReport ramp) {
        String share = String.format(Locale.ROOT, "%.4g %%", ramp.share() * 100);
        return ramp.state() == RampState.ROLLED_BACK
                ? ramp.state().label()
                : ramp.state().label() + " at " + share + " of " + ramp.arm();
    }
}
