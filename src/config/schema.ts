import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import type { FormatName } from './formats.ts'

/**
 * All settings with type and range. Defaults and explanations are in config/default.yaml; a test
 * keeps both in step.
 */

const section = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })

const integer = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum })

const text = (format: FormatName) => Type.String({ format })

/** Never shown, not even in errors. */
const secret = (minLength = 0) => Type.String({ minLength, format: 'secret' satisfies FormatName })

const oneOf = <T extends string | number>(...values: readonly T[]) =>
  Type.Union(values.map((value) => Type.Literal(value)))

/** Rules as a document: a single setting that a file or a variable replaces as a whole. */
const rules = (member: TSchema, description: string) =>
  Type.Unsafe<Record<string, unknown>>(Type.Record(Type.String(), member, { description }))

const names = () =>
  Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { maxItems: 1000, uniqueItems: true })

/** Secrets by name: a single setting, as `rules`. Long enough for a private key. */
const secretsByName = () =>
  Type.Unsafe<Record<string, string>>(
    Type.Record(Type.String(), Type.String({ minLength: 1, maxLength: 16_384 }), {
      description: 'must be an object of names, each with a text of at most 16384 characters',
      areSecret: true,
    }),
  )

/** TLS settings of every listener, plus those of a specific one. */
const tlsSection = <T extends Record<string, TSchema>>(more: T) =>
  section({
    enabled: Type.Boolean(),
    certFile: Type.String(),
    keyFile: Type.String(),
    minVersion: oneOf('TLSv1.2', 'TLSv1.3'),
    ciphers: Type.Array(text('tls-cipher'), { maxItems: 100, uniqueItems: true }),
    ...more,
  })

const SECOND_MS = 1000
const HOUR_MS = 3_600 * SECOND_MS
const DAY_MS = 24 * HOUR_MS
const port = () => integer(0, 65_535)

export const ConfigSchema = section({
  data: section({ dir: Type.String({ minLength: 1 }) }),
  clock: section({
    start: Type.String({ format: 'instant' satisfies FormatName, variable: 'TOLLGATE_CLOCK' }),
    test: Type.Boolean(),
  }),
  redis: section({
    url: text('redis-url'),
    commandTimeoutMs: integer(10, 60 * SECOND_MS),
    connectTimeoutMs: integer(10, 60 * SECOND_MS),
    replicaAcks: integer(0, 5),
    appendfsync: oneOf('everysec', 'always'),
  }),
  mongo: section({
    url: text('mongo-url'),
    database: text('database-name'),
    timeoutMs: integer(10, 60 * SECOND_MS),
    batchTimeoutMs: integer(10, 24 * 3600 * SECOND_MS),
  }),
  realtime: section({
    host: text('host'),
    openTo: oneOf('loopback', 'network', 'nobody'),
    port: port(),
    defaultFileType: text('file-type'),
    httpServer: oneOf('auto', 'native', 'javascript'),
    standby: Type.Boolean(),
    silenceMs: integer(100, 3600 * SECOND_MS),
    connectionsMax: integer(1, 1_000_000),
    bodyBytesMax: integer(1024, 16 * 1024 * 1024),
    listeners: integer(1, 64),
    workers: integer(0, 256),
    workerKind: oneOf('auto', 'thread', 'inline'),
    batchSizeMax: integer(1, 1024),
    batchesInFlightMax: integer(1, 64),
    inFlightMax: integer(1, 1_000_000),
    reportsBytesMax: integer(1024 * 1024, 64 * 1024 * 1024 * 1024),
    queueMsMax: integer(1, 60 * SECOND_MS),
    newSessionsPercent: integer(1, 100),
    requestTimeoutMs: integer(10, 60 * SECOND_MS),
    servicesMax: integer(1, 1024),
    tls: tlsSection({
      clientCaFile: Type.String(),
      clientCertificates: oneOf('required', 'optional'),
    }),
    returnCodes: rules(Type.Integer(), 'must be an object of outcomes, each a whole number'),
  }),
  diameter: section({
    enabled: Type.Boolean(),
    host: text('host'),
    openTo: oneOf('loopback', 'network', 'nobody'),
    port: port(),
    originHost: text('diameter-identity'),
    originRealm: text('diameter-realm'),
    realms: Type.Array(text('diameter-realms'), { maxItems: 1000, uniqueItems: true }),
    fileType: text('file-type'),
    connectionsMax: integer(1, 100_000),
    messageBytesMax: integer(1024, 1024 * 1024),
    outputBytesMax: integer(64 * 1024, 1024 * 1024 * 1024),
    capabilitiesTimeoutMs: integer(100, 60 * SECOND_MS),
    watchdogMs: integer(100, HOUR_MS),
    answerTimeoutMs: integer(100, 60 * SECOND_MS),
    sessionsMax: integer(1, 10_000_000),
    requestsPerSecondMax: integer(1, 1_000_000),
    tls: tlsSection({ only: Type.Boolean(), port: port(), clientCaFile: Type.String() }),
  }),
  admin: section({
    host: text('host'),
    openTo: oneOf('nobody', 'loopback', 'network'),
    openPaths: Type.Array(oneOf('health', 'docs', 'metrics', 'heartbeat'), { uniqueItems: true }),
    hostNames: Type.Array(text('host'), { maxItems: 100, uniqueItems: true }),
    trustedProxies: Type.Array(text('address-range'), { maxItems: 100, uniqueItems: true }),
    port: port(),
    generatedPassword: oneOf('loopback', 'network'),
    connectionsMax: integer(1, 1_000_000),
    connectionsPerAddressMax: integer(1, 1_000_000),
    anonymousPercent: integer(1, 100),
    requestTimeoutMs: integer(SECOND_MS, 24 * HOUR_MS),
    bodyTimeoutMs: integer(SECOND_MS, HOUR_MS),
    bodyBytesPerSecondMin: integer(1, 1_000_000_000),
    liveHistory: Type.Boolean(),
    tls: tlsSection({}),
  }),
  secrets: section({
    key: secret(),
    oldKeys: Type.Array(secret(1), { maxItems: 20, uniqueItems: true }),
  }),
  audit: section({
    keepDays: integer(0, 36_500),
    reads: Type.Array(oneOf('accounts', 'subscribers', 'lines', 'balances', 'bills', 'autorenew'), {
      uniqueItems: true,
    }),
    syslog: section({
      host: Type.String({ maxLength: 253 }),
      port: integer(1, 65_535),
      caFile: Type.String(),
      certFile: Type.String(),
      keyFile: Type.String(),
      facility: integer(0, 23),
    }),
  }),
  retention: section({
    linesDays: integer(0, 36_500),
    importsDays: integer(0, 36_500),
    jobsDays: integer(0, 36_500),
    eventsDays: integer(0, 36_500),
    intakeDays: integer(0, 36_500),
  }),
  jobs: section({
    pollMs: integer(10, 60 * SECOND_MS),
    retryMs: integer(10, DAY_MS),
  }),
  entities: section({
    pageSize: integer(1, 100_000),
    pageSizeMax: integer(1, 100_000),
    readTimeoutMs: integer(100, 10 * 60 * SECOND_MS),
    closedCycleChanges: Type.Boolean(),
    importRowsMax: integer(1, 100_000_000),
    importBytesMax: integer(1024, 64 * 1024 * 1024 * 1024),
  }),
  actions: section({
    balanceCacheHours: integer(0, 720),
    remove: Type.Boolean(),
  }),
  ledger: section({
    partitions: oneOf(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
    commitAttemptsMax: integer(1, 100),
    replayMs: integer(SECOND_MS, DAY_MS),
    operationKeepMs: integer(60 * SECOND_MS, 30 * DAY_MS),
    directoryTtlMs: integer(60 * SECOND_MS, 60 * DAY_MS),
    ownersCachedMax: integer(1, 10_000_000),
    ownersWarmedMax: integer(0, 10_000_000),
    backlogWarnPercent: integer(1, 99),
    backlogRefusePercent: integer(2, 100),
  }),
  session: section({
    validityMs: integer(SECOND_MS, 7 * DAY_MS),
    graceMs: integer(0, DAY_MS),
    quotaHoldingMs: integer(0, 7 * DAY_MS),
    quotaThresholdPercent: integer(0, 99),
    finalUnitAction: oneOf('none', 'terminate', 'redirect', 'restrict'),
    redirectAddress: text('redirect-address'),
    redirectAddressType: oneOf('ipv4', 'ipv6', 'url', 'sip'),
    restrictionFilters: Type.Array(text('filter'), { maxItems: 100, uniqueItems: true }),
  }),
  rating: section({
    rateKeys: Type.Array(text('rate-key'), { minItems: 1, maxItems: 16, uniqueItems: true }),
    rateCalculators: rules(
      Type.Record(Type.String(), Type.Unknown()),
      'must be an object of tariff categories, each an object of usage types',
    ),
    customerIdentification: rules(
      Type.Array(Type.Unknown()),
      'must be an object of usage types, each a list of rules',
    ),
    countryPrefix: text('country-prefix'),
    refundMicrosMax: integer(0, 1_000_000_000_000_000),
    refundUnitsMax: integer(0, 1_000_000_000_000_000),
    freeNumbers: Type.Array(text('free-number'), { maxItems: 1000, uniqueItems: true }),
    currencyCode: integer(1, 999),
    defaultTax: text('default-tax'),
    taxMapping: rules(Type.Array(Type.Unknown()), 'must be an object with a list of priorities'),
    timeZone: text('time-zone'),
    cycleDay: integer(1, 28),
    eventAgeMsMax: integer(0, 3_660 * DAY_MS),
    eventFutureMsMax: integer(0, DAY_MS),
    recordAgeMonthsMax: integer(0, 120),
  }),
  billing: section({
    lateCycleDays: integer(0, 3_660),
    preponeOnTermination: Type.Boolean(),
  }),
  mail: section({
    url: text('smtp-url'),
    from: text('mail-address'),
    timeoutMs: integer(100, 5 * 60 * SECOND_MS),
  }),
  catalog: section({
    pollMs: integer(10, 60 * SECOND_MS),
    profilesCachedMax: integer(1, 10_000_000),
    unknownTtlMs: integer(0, HOUR_MS),
  }),
  external: section({
    privateRanges: Type.Array(text('private-range'), { maxItems: 100, uniqueItems: true }),
  }),
  transfer: section({
    places: rules(
      Type.Record(Type.String(), Type.Unknown()),
      'must be an object of places, each with its url',
    ),
    secrets: secretsByName(),
    timeoutMs: integer(100, HOUR_MS),
  }),
  intake: section({
    sources: rules(
      Type.Record(Type.String(), Type.Unknown()),
      'must be an object of sources, each with its place',
    ),
    pollMs: integer(100, HOUR_MS),
  }),
  invoices: section({
    folder: Type.String(),
    templates: Type.String(),
    files: oneOf('on_demand', 'at_confirmation'),
    formats: Type.Array(oneOf('pdf', 'html', 'json', 'ubl'), { minItems: 1, uniqueItems: true }),
  }),
  reports: section({
    folder: Type.String(),
    rowsMax: integer(1, 1_000_000),
    fileRowsMax: integer(1, 1_000_000_000),
    timeoutMs: integer(100, 24 * HOUR_MS),
    keepHours: integer(1, 8_760),
  }),
  export: section({
    everyMinutes: integer(0, 10_080),
    delayMs: integer(120 * SECOND_MS, DAY_MS),
    place: Type.String({ maxLength: 255 }),
    format: oneOf('csv', 'jsonl'),
    gzip: Type.Boolean(),
    fields: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
      minItems: 1,
      maxItems: 200,
      uniqueItems: true,
    }),
    types: names(),
    plans: names(),
    rates: names(),
    linesMax: integer(1, 10_000_000),
    kafka: section({
      brokers: Type.Array(text('kafka-broker'), { maxItems: 100, uniqueItems: true }),
      topic: text('kafka-topic'),
      tls: Type.Boolean(),
      caFile: Type.String(),
      certFile: Type.String(),
      keyFile: Type.String(),
      mechanism: oneOf('none', 'PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'),
      username: Type.String({ maxLength: 255 }),
      password: secret(),
      compression: oneOf('none', 'gzip', 'snappy', 'lz4'),
      // Less than the lease of a job, which is renewed before each request.
      timeoutMs: integer(100, 45 * SECOND_MS),
    }),
  }),
  recorder: section({
    enabled: Type.Boolean(),
    blockMs: integer(1, 60 * SECOND_MS),
    gatherMs: integer(0, 60 * SECOND_MS),
    roundBytesMax: integer(1_024, 1_073_741_824),
    openLinesMs: integer(0, HOUR_MS),
    lagWarnMs: integer(1_000, 24 * HOUR_MS),
  }),
  sweep: section({
    intervalMs: integer(10, HOUR_MS),
    batchMax: integer(1, 100_000),
  }),
  log: section({
    level: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
  }),
  shutdown: section({
    timeoutMs: integer(100, 10 * 60 * SECOND_MS),
    writeTimeoutMs: integer(0, HOUR_MS),
  }),
})

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T

/** The configuration that the code receives: complete, typed and deeply frozen. */
export type Config = DeepReadonly<Static<typeof ConfigSchema>>

/** One setting: its path, variable and type. */
export type Leaf = {
  readonly path: string
  readonly variable: string
  readonly schema: TSchema
}

/**
 * Name of the environment variable of a setting: `redis.url` → `TOLLGATE_REDIS_URL`. The schema of
 * a setting may give another one.
 */
export function variableOf(path: string): string {
  const snake = path.replace(/\./g, '_').replace(/([a-z0-9])([A-Z])/g, '$1_$2')
  return `TOLLGATE_${snake.toUpperCase()}`
}

/** Every setting of a schema, in the order of the schema. */
export function leavesOf(schema: TObject, prefix = ''): readonly Leaf[] {
  return Object.entries(schema.properties).flatMap(([key, child]) => {
    const path = prefix === '' ? key : `${prefix}.${key}`
    if (isSection(child)) return leavesOf(child, path)
    return [{ path, variable: child['variable'] ?? variableOf(path), schema: child }]
  })
}

/** Whether a schema is a section and not a setting. */
export function isSection(schema: TSchema): schema is TObject {
  return schema['properties'] !== undefined
}
