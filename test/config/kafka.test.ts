import { expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'

const TOPIC = { BROKERS: 'k1:9092', TOPIC: 'lines' }
const LOGIN = { USERNAME: 'u', PASSWORD: 'hidden' }

function load(settings: Readonly<Record<string, string>>) {
  const env = Object.entries(settings).map(([name, value]) => [
    `TOLLGATE_EXPORT_KAFKA_${name}`,
    value,
  ])
  return loadConfig({ env: Object.fromEntries(env) }).export.kafka
}

it.each([
  [{ BROKERS: 'k1:9092' }, 'topic must be set, because export.kafka.brokers ('],
  [{ BROKERS: 'k1' }, 'brokers must be a list of different brokers, each with its port'],
  [{ TOPIC: 'a b' }, 'topic must be at most 249 letters'],
  [{ ...TOPIC, ...LOGIN, TLS: 'true', MECHANISM: 'PLAIN', USERNAME: '' }, 'username must be set'],
  [{ ...TOPIC, MECHANISM: 'SCRAM-SHA-512', USERNAME: 'u' }, 'password must be set, because'],
  [{ ...TOPIC, PASSWORD: 'hidden' }, 'password must be empty, because export.kafka.mechanism ('],
  [
    { ...TOPIC, ...LOGIN, MECHANISM: 'PLAIN' },
    'tls must be true, because export.kafka.mechanism (',
  ],
  [{ ...TOPIC, CA_FILE: '/ca.pem' }, 'caFile must be empty, because export.kafka.tls ('],
  [
    { ...TOPIC, TLS: 'true', CERT_FILE: '/c.pem' },
    'keyFile must name a file, because export.kafka',
  ],
  [
    { ...TOPIC, TLS: 'true', KEY_FILE: '/k.pem' },
    'certFile must name a file, because export.kafka',
  ],
  [
    { ...TOPIC, ...LOGIN, PASSWORD: 'hidden'.repeat(200) },
    'password must be a text of at most 1024',
  ],
])('a stream to Kafka with %o is refused', (settings, problem) => {
  expect(() => load(settings)).toThrow(`export.kafka.${problem}`)
  expect(() => load(settings)).not.toThrow('hidden')
})

it('a stream to Kafka with a login is accepted, also with addresses of IPv6', () => {
  const settings = { ...TOPIC, ...LOGIN, BROKERS: '[::1]:9092,k1:9092' }
  expect(load({ ...settings, MECHANISM: 'SCRAM-SHA-256' })).toMatchObject({
    ...{ username: 'u', password: 'hidden', tls: false },
    brokers: ['[::1]:9092', 'k1:9092'],
  })
})
