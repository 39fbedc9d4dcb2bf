/**
 * A file type: the message format of a network element as configured by an operator (`file_types`),
 * compiled once into closures and tables. Pure: no sockets, no clock, no store. Bytes are decoded
 * to a `Message`, and answers encoded, in realtime/codecs.
 */
import type { ChargeOutcome, Reason, ServiceOutcome } from '../domain/charge-outcome.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'

/**
 * A parsed message: nested records of texts, numbers, booleans, null, records and lists. Names come
 * from the network and may be anything, including `__proto__`.
 */
export type Message = Readonly<Record<string, unknown>>

/** The path of an invalid field, and why. */
export interface FieldProblem {
  field: string
  why: string
  /** True if the field occurs too often. */
  isTooMany?: true
}

/** Syntax of key-value text, for decoding and encoding. */
export interface KeyValueSyntax {
  pairSeparator: string
  valueSeparator: string
  /**
   * `percent`: bytes as %XX, and in a form `+` for a blank. `quotes`: "…" with inner quotes
   * doubled.
   */
  quoting: 'percent' | 'quotes' | 'none'
  /** Treatment of a repeated key: use one value, collect a list, or fail. */
  repeated: 'last' | 'first' | 'list' | 'error'
}

/** Whether the syntax is `application/x-www-form-urlencoded`. */
export function isForm({ pairSeparator, valueSeparator, quoting }: KeyValueSyntax): boolean {
  return pairSeparator === '&' && valueSeparator === '=' && quoting === 'percent'
}

export type ParserSettings =
  | { type: 'json' }
  | { type: 'xml' }
  | ({ type: 'key_value' } & KeyValueSyntax)
  /** Credit-control messages as JSON with AVP names or codes. */
  | { type: 'diameter' }

/** Encoding of answers; `diameter` uses the shape of the request. */
export type EncoderSettings =
  | { type: 'json' }
  | { type: 'xml'; root: string }
  | ({ type: 'key_value' } & KeyValueSyntax)
  | { type: 'diameter' }

/** Context for mapping a message. */
export interface MapContext {
  /** Identity of the network element; the request's origin also includes the file type. */
  origin: string
  nowMs: number
  servicesMax: number
  eventAgeMsMax: number
  eventFutureMsMax: number
  /** Hex digest of the bytes, for messages without a session id. */
  bodyDigest: () => string
}

/**
 * A service that is not charged: either a filter excludes it, and what it requests is granted; or
 * it cannot be decoded and is refused while the others of its message are processed.
 */
export interface SkippedService {
  /** Index in the message. */
  index: number
  ratingGroup: number
  serviceIdentifier: string
  usaget: string
  granted: number
  /** Null if a filter excludes it. */
  problem: FieldProblem | null
}

/** Parts of the message that answers repeat. */
export interface Echo {
  message: Message
  /** Entries of the list of services by index; without a list, the message itself. */
  entries: readonly Message[]
  /** As sent, such as 1 or 'I'. */
  requestType: unknown
  recordType: string
  sessionId: string
  /** -1 if absent. */
  requestNumber: number
  pretend: boolean
}

export interface MappedRequest {
  /** Null if filters exclude all services. */
  request: ChargeRequest | null
  skipped: readonly SkippedService[]
  echo: Echo
}

/** The Final-Unit-Action sent to the network element. */
export type FinalUnitAction =
  | { action: 'none' }
  | { action: 'terminate' }
  | { action: 'redirect'; addressType: 'ipv4' | 'ipv6' | 'url' | 'sip'; address: string }
  | { action: 'restrict'; filters: readonly string[] }

/** Configured values in answers, independent of the outcome. */
export interface AnswerSettings {
  /** 0 if answers have no quota holding time. */
  quotaHoldingMs: number
  /** Remaining percentage of a grant at which more should be requested; 0 for no threshold. */
  thresholdPercent: number
  finalUnit: FinalUnitAction
  /** ISO 4217 numeric; 999 for none. */
  currencyCode: number
  /** Balances below are low; absent if answers do not say. */
  lowBalanceMicros?: number | undefined
  returnCodes: Readonly<Record<Reason, number>>
}

/** Input of response fields. */
export interface AnswerSource {
  fileType: string
  echo: Echo
  /** Includes skipped services at their index: one service for each of `echo.entries`. */
  outcome: ChargeOutcome
  /** By usage type; a file type may override some. */
  settings: (usaget: string) => AnswerSettings
}

/** A number as decimal digits, for values that are not exact in binary. */
export class NumberText {
  readonly digits: string

  constructor(digits: string) {
    this.digits = digits
  }
}

export type AnswerValue =
  | string
  | number
  | boolean
  | NumberText
  | readonly AnswerValue[]
  | { readonly [name: string]: AnswerValue }

/**
 * Returns a value of the answer; undefined to omit the field. `service` is null outside of a list.
 */
export type AnswerReader = (
  answer: AnswerSource,
  service: ServiceOutcome | null,
  /** Entry of the service in the message. */
  entry: Message,
) => AnswerValue | undefined

/** Tests a precondition that several fields share. */
export type AnswerTest = (answer: AnswerSource, service: ServiceOutcome | null) => boolean

/**
 * The structure of answers, the same for each; encoders traverse it. If `needs` is false the value
 * is undefined, so nodes with the same test can be skipped together.
 */
export type ResponseNode =
  | { kind: 'value'; name: string; read: AnswerReader; needs?: AnswerTest }
  /** Omitted if it is empty. */
  | { kind: 'group'; name: string; children: readonly ResponseNode[] }
  /** A list with one member per service. */
  | { kind: 'services'; name: string; children: readonly ResponseNode[] }

/** Rule documents that the worker threads need for this file type. */
export interface RuleDocuments {
  rateCalculators: unknown
  customerIdentification: unknown
}

/** The properties that file types of messages and of records have in common. */
export interface RatedFormat {
  readonly name: string
  readonly isEnabled: boolean
  /** Value of `ChargeRequest.rules`; empty, with `rules` null, for the installation's rules. */
  readonly rulesKey: string
  readonly rules: RuleDocuments | null
  /** Words in the document and its rules: fields with other names cannot be read (words.ts). */
  readonly words: ReadonlySet<string>
}

export interface FileType extends RatedFormat {
  readonly type: 'realtime'
  readonly parser: ParserSettings
  readonly encoder: EncoderSettings
  /** Whether requests may use GET. */
  readonly allowsGet: boolean
  /** Never throws, for any message. */
  readonly map: (message: Message, context: MapContext) => MappedRequest | FieldProblem
  readonly response: readonly ResponseNode[]
  readonly settings: (usaget: string) => AnswerSettings
}

/** Defaults of the installation for all file types. */
export interface FileTypeDefaults {
  /** From the configuration (session.*, realtime.returnCodes). */
  readonly answers: AnswerSettings
  /** IANA zone of dates without an offset. */
  readonly timeZone: string
  readonly countryPrefix: string
  /** Limit of the age of records in files. */
  readonly recordAgeMonthsMax: number
  /** Rules of the installation, for file types without their own. */
  readonly rules: RuleDocuments
}
