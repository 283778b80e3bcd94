package dev.isthmus.bench.attack;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * The attacker's process. It reads lines {@code NAME PORT HTTP2-PORT brief|full}, prepares the attack, prints
 * {@code ready}, runs it on the next line of input, and prints {@code seen true|false NOTES}. It exits at the end of
 * standard input.
 */
public final class Attacker {
    public static final String READY = "ready";
    public static final String SEEN = "seen ";

    private Attacker() {}

    public static void main(String[] arguments) throws IOException, InterruptedException {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                AttackResult seen = play(line.split(" "), in);
                System.out.println(SEEN + seen.met() + " " + seen.notes());
            }
        }
    }

    private static AttackResult play(String[] words, BufferedReader in) throws IOException, InterruptedException {
        AttackTarget target =
                new AttackTarget(Integer.parseInt(words[1]), Integer.parseInt(words[2]), words[3].equals("brief"));
        Attack attack = Attacks.ALL.stream()
                .filter(known -> known.name().equals(words[0]))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("unknown attack '" + words[0] + "'"));
        attack.prepare();
        System.out.println(READY);
        in.readLine();
        try {
            return attack.play(target);
        } catch (IOException e) {
            return new AttackResult(false, "could not be run: " + e);
        }
    }
}
