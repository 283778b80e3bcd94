package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Children;
import dev.isthmus.bench.process.Scratch;
import io.netty.channel.EventLoop;
import java.io.IOException;
import java.util.List;

/** Runs scenarios, each with its own fleet. */
record ScenarioRunner(Options options, EventLoop loop) {
    private static final int WARM_SECONDS = 3;
    private static final int WARM_LIMIT_SECONDS = 20;

    Row play(Scenario scenario, ClientProtocol protocol) throws IOException, InterruptedException {
        try (Scratch scratch = new Scratch();
                Children children = new Children()) {
            Fleet fleet = new Fleet(children, scratch.folder(), scenario);
            fleet.startGateways(options.home());
            ClientTrust trust = scenario.secure()
                    ? new ClientTrust(
                            fleet.certificates().issuer(), List.of(CertificateFiles.RENAMED, CertificateFiles.LINKED))
                    : null;
            try (Client client = protocol.client(loop, fleet.ports(), Options.CLIENT_LIMIT_MILLIS, trust)) {
                warm(client);
                Tally tally = new Tally();
                Verdict verdict = scenario.play(new ScenarioContext(options, fleet, client, tally));
                return Row.played(scenario.name(), protocol, tally, fleet.ledgers(), verdict);
            }
        } catch (BenchException e) {
            return Row.unplayed(scenario.name(), protocol, String.valueOf(e.getMessage()));
        }
    }

    /** Warms up at half the rate, until a second passes without a failure. */
    private void warm(Client client) throws InterruptedException, BenchException {
        int perSecond = Math.max(1, options.rate() / 2);
        int least = options.brief() ? 1 : WARM_SECONDS;
        Tally tally = new Tally();
        for (int second = 1; second <= WARM_LIMIT_SECONDS; second++) {
            tally = new Tally();
            new Load(client, tally, System::nanoTime, false).open(perSecond, perSecond);
            if (second >= least && tally.okCount() == perSecond) {
                return;
            }
        }
        throw new BenchException("requests failed before the fault: " + tally.failuresByText());
    }
}
