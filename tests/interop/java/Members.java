import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Members of a group in one process: BOOTSTRAP GROUP TOPIC [KEY=VALUE ...]. A TOPIC that begins with ^ is a regular
 * expression. Commands on standard input: "+NAME [KEY=VALUE ...]" starts a member, "-NAME" closes it. Printed are "NAME LINE" for each record and
 * "-NAME" when a member is gone.
 */
public final class Members {
    private static String topic;

    public static void main(String[] args) throws Exception {
        Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", args[0], "group.id", args[1],
            "auto.offset.reset", "earliest", "enable.auto.commit", "false"));
        topic = args[2];
        add(config, args, 3);
        Map<String, Member> members = new HashMap<>();
        var commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ");
            String name = words[0].substring(1);
            if (line.startsWith("+")) {
                Map<String, Object> own = new HashMap<>(config);
                own.put("client.id", name);
                add(own, words, 1);
                Member member = new Member(name, own);
                members.put(name, member);
                member.start();
            } else {
                members.remove(name).leaving = true;
            }
        }
        for (Member member : members.values()) {
            member.leaving = true;
            member.join();
        }
    }

    private static void add(Map<String, Object> config, String[] words, int from) {
        for (int i = from; i < words.length; i++) {
            String[] pair = words[i].split("=", 2);
            config.put(pair[0], pair[1]);
        }
    }

    private static final class Member extends Thread implements ConsumerRebalanceListener {
        private final String name;
        private final KafkaConsumer<String, String> consumer;
        private volatile boolean leaving;

        Member(String name, Map<String, Object> config) {
            this.name = name;
            consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
            if (!topic.startsWith("^")) {
                consumer.subscribe(List.of(topic), this);
            } else if ("consumer".equals(config.get("group.protocol"))) {
                consumer.subscribe(new SubscriptionPattern(topic), this); // the broker's
            } else {
                consumer.subscribe(Pattern.compile(topic), this); // the client's
            }
        }

        /** Commits what was printed: after each poll, before partitions go, and so at the end. */
        @Override
        public void run() {
            try (consumer) {
                while (!leaving) {
                    for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofMillis(200))) {
                        System.out.println(name + " " + r.value());
                    }
                    commit();
                }
            } catch (RuntimeException e) {
                System.out.println("!" + name + " " + e);
            }
            System.out.println("-" + name);
        }

        /** A commit that a rebalance forbids is made up for when partitions go, or after the next poll. */
        private void commit() {
            try {
                consumer.commitSync();
            } catch (RebalanceInProgressException e) {
                // A later commit has these offsets too.
            }
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            commit();
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        }
    }
}
