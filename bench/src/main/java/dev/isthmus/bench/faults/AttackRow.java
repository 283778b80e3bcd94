package dev.isthmus.bench.faults;

import dev.isthmus.bench.attack.Attack;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * An attack's row in the report.
 *
 * @param idle resident MiB before the first attack
 * @param peak maximum of resident MiB during this attack
 * @param seconds duration of the bystander's load during the attack
 * @param cpu seconds of CPU that the attacked process used in that time
 * @param seen whether the attacker's observations are as expected, and the observations
 * @param afterwards failures after the attack, or empty
 * @param sound whether the process is live, nothing ran twice and at most two servers crashed
 * @param limit MiB that calls may hold; 0 for other proxies
 */
record AttackRow(
        AttackedProxy defender,
        String attack,
        boolean brief,
        Tally before,
        Tally during,
        double idle,
        double peak,
        AttackRunner.Back back,
        double seconds,
        double cpu,
        double attackerCpu,
        String seen,
        String afterwards,
        boolean sound,
        String servers,
        double limit) {
    /** MiB that the resident memory may grow beyond the calls' limit: heap, sockets, allocator. */
    static final double BESIDE_MIB = 160;

    /** MiB above the idle process at which memory counts as recovered. */
    static final double BACK_MIB = 128;

    private static final double MAX_RATIO = 1.2;
    private static final String FORM =
            "| %-20s | %-7s | %-28s | %6s | %6s | %5s | %5s | %5s | %5s | %5s | %5s | %-8s | %s |%n";

    static String heading() {
        String names = "attack|on|bystander failed|p99 ms|during|ratio|idle MB|peak|after|CPU %|its|verdict|notes";
        return String.format(Locale.ROOT, FORM, (Object[]) names.split("\\|")) + "|" + "---|".repeat(13)
                + System.lineSeparator();
    }

    static String unplayed(AttackedProxy defender, Attack attack, String problem) {
        Object[] cells = new Object[13];
        Arrays.fill(cells, "");
        cells[0] = attack.name();
        cells[1] = defender.label();
        cells[11] = "missed";
        cells[12] = problem.replaceAll("\\s*\\R\\s*", "; ");
        return String.format(Locale.ROOT, FORM, cells);
    }

    private double ratio() {
        return during.millis(99) / Math.max(0.001, before.millis(99));
    }

    /** Descriptions of the missed limits. */
    List<String> missed() {
        List<String> missed = new ArrayList<>();
        add(missed, !during.failures().isEmpty() || !before.failures().isEmpty(), "bystander");
        add(missed, !seen.startsWith("true"), "attack");
        add(missed, !sound, "process or servers");
        add(missed, !afterwards.isEmpty(), afterwards);
        if (defender.isthmus()) {
            add(missed, !(peak - idle <= limit + BESIDE_MIB), "resident");
            add(missed, back.millis() < 0, "not back: " + Math.round(back.used()) + " bytes held");
            add(missed, !brief && ratio() > MAX_RATIO, "p99");
        }
        return missed;
    }

    private static void add(List<String> missed, boolean is, String what) {
        if (is) {
            missed.add(what);
        }
    }

    /** Whether all limits were met; always true for other proxies, which are only reported. */
    boolean met() {
        return !defender.isthmus() || missed().isEmpty();
    }

    String line() {
        List<String> missed = missed();
        List<String> notes = new ArrayList<>();
        add(notes, !missed.isEmpty(), "missed: " + String.join(", ", missed));
        notes.add(seen.substring(seen.indexOf(' ') + 1));
        add(notes, !servers.isEmpty(), servers);
        add(notes, back.millis() > 1_000, "back after " + back.millis() / 1_000 + " s");
        return String.format(
                Locale.ROOT,
                FORM,
                attack,
                defender.label(),
                Row.failed(during.failuresByText()) + " of " + during.offeredCount(),
                number(before.millis(99)),
                number(during.millis(99)),
                String.format(Locale.ROOT, "%.2f", ratio()),
                Math.round(idle),
                Math.round(peak),
                Math.round(back.resident()),
                Math.round(100 * cpu / seconds),
                Math.round(100 * attackerCpu / seconds),
                !defender.isthmus() ? "reported" : missed.isEmpty() ? "pass" : "missed",
                String.join("; ", notes));
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }
}
