/**
 * A file type: the format of a network element's messages as an operator has described it
 * (`file_types`, spec/realtime.md 1), compiled once into closures and tables. Pure: no sockets, no
 * clock, no store. Bytes become a `Message`, and answers bytes, in realtime/codecs.
 */
import type { ChargeOutcome, Reason, ServiceOutcome } from '../domain/charge-outcome.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'

/**
 * What a parser makes of the bytes: nested records, whose values are texts, numbers, booleans,
 * null, records and lists. Names come from the network and may be anything, `__proto__` too.
 */
export type Message = Readonly<Record<string, unknown>>

/** Which field of a message cannot be used (its path there) and why. */
export interface FieldProblem {
  field: string
  why: string
  /** The field is there more often than it may be. */
  isTooMany?: true
}

/** Syntax of key-value text, both directions. */
export interface KeyValueSyntax {
  pairSeparator: string
  valueSeparator: string
  /** `percent`: bytes as %XX; in a form `+` is a blank, too. `quotes`: as "…", doubled inside. */
  quoting: 'percent' | 'quotes' | 'none'
  /** What of a key that is given several times: one of them, all as a list, or a named error. */
  repeated: 'last' | 'first' | 'list' | 'error'
}

/** Whether it is the text of a form, `application/x-www-form-urlencoded`. */
export function isForm({ pairSeparator, valueSeparator, quoting }: KeyValueSyntax): boolean {
  return pairSeparator === '&' && valueSeparator === '=' && quoting === 'percent'
}

export type ParserSettings =
  | { type: 'json' }
  | { type: 'xml' }
  | ({ type: 'key_value' } & KeyValueSyntax)
  /** Credit-control messages as JSON, by AVP names or codes. */
  | { type: 'diameter' }

/** How answers are written; `diameter`: in the shape that the request had. */
export type EncoderSettings =
  | { type: 'json' }
  | { type: 'xml'; root: string }
  | ({ type: 'key_value' } & KeyValueSyntax)
  | { type: 'diameter' }

/** What mapping a message needs to know besides it. */
export interface MapContext {
  /** Identity of the network element; the request's origin has the file type in it, too. */
  origin: string
  nowMs: number
  servicesMax: number
  eventAgeMsMax: number
  eventFutureMsMax: number
  /** Hex digest of the bytes, for messages that name no session. */
  bodyDigest: () => string
}

/**
 * A service that is not charged: a filter keeps it from that, and it gets what it asks for; or it
 * cannot be read, and is refused while the others of its message go on.
 */
export interface SkippedService {
  /** Its position in the message. */
  index: number
  ratingGroup: number
  serviceIdentifier: string
  usaget: string
  granted: number
  /** Null: a filter skips it. */
  problem: FieldProblem | null
}

/** What an answer repeats of the message. */
export interface Echo {
  message: Message
  /** The entries of the list of services, by position; one, the message itself, without a list. */
  entries: readonly Message[]
  /** As it was sent, such as 1 or 'I'. */
  requestType: unknown
  recordType: string
  sessionId: string
  /** -1 if there was none. */
  requestNumber: number
  pretend: boolean
}

export interface MappedRequest {
  /** Null: filters keep all of it from being charged. */
  request: ChargeRequest | null
  skipped: readonly SkippedService[]
  echo: Echo
}

/** What the network element is told of the end of its grants. */
export type FinalUnitAction =
  | { action: 'none' }
  | { action: 'terminate' }
  | { action: 'redirect'; addressType: 'ipv4' | 'ipv6' | 'url' | 'sip'; address: string }
  | { action: 'restrict'; filters: readonly string[] }

/** What answers have beside the outcome; depends on nothing but the configuration. */
export interface AnswerSettings {
  /** 0: no quota holding time is told. */
  quotaHoldingMs: number
  /** Percent of a grant that may be left when more is asked for; 0: no threshold is told. */
  thresholdPercent: number
  finalUnit: FinalUnitAction
  /** ISO 4217 numeric; 999 for none. */
  currencyCode: number
  /** Below it a balance is low; without it nothing is said of that. */
  lowBalanceMicros?: number | undefined
  returnCodes: Readonly<Record<Reason, number>>
}

/** What a response field is read from. */
export interface AnswerSource {
  fileType: string
  echo: Echo
  /** With what was skipped put back in its place: one service for each of `echo.entries`. */
  outcome: ChargeOutcome
  /** Of a usage type: the file type may set some of them apart. */
  settings: (usaget: string) => AnswerSettings
}

/** A number by its decimal digits, exact where a binary one is not. */
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

/** A value of the answer; undefined: the field is left out. `service` null outside of a list. */
export type AnswerReader = (
  answer: AnswerSource,
  service: ServiceOutcome | null,
  /** The message's entry of that service. */
  entry: Message,
) => AnswerValue | undefined

/** Whether an answer, or a service of it, has something that several fields tell of. */
export type AnswerTest = (answer: AnswerSource, service: ServiceOutcome | null) => boolean

/**
 * The answer's structure, the same for each answer; encoders walk it. Where `needs` does not hold
 * the value is undefined: nodes with the same test can be left out together.
 */
export type ResponseNode =
  | { kind: 'value'; name: string; read: AnswerReader; needs?: AnswerTest }
  /** Left out where nothing is in it. */
  | { kind: 'group'; name: string; children: readonly ResponseNode[] }
  /** A list with one member per service. */
  | { kind: 'services'; name: string; children: readonly ResponseNode[] }

/** The documents that charging by this file type needs in the worker threads. */
export interface RuleDocuments {
  rateCalculators: unknown
  customerIdentification: unknown
}

export interface FileType {
  readonly name: string
  readonly isEnabled: boolean
  readonly parser: ParserSettings
  readonly encoder: EncoderSettings
  /** Whether requests may come by GET. */
  readonly allowsGet: boolean
  /** As `ChargeRequest.rules`; empty, with `rules` null: those of the installation. */
  readonly rulesKey: string
  readonly rules: RuleDocuments | null
  /** Words of the document and of its rules: no field of another name can be read (words.ts). */
  readonly words: ReadonlySet<string>
  /** Never throws, whatever the message. */
  readonly map: (message: Message, context: MapContext) => MappedRequest | FieldProblem
  readonly response: readonly ResponseNode[]
  readonly settings: (usaget: string) => AnswerSettings
}

/** What the installation gives to all file types. */
export interface FileTypeDefaults {
  /** Of the installation (session.*, realtime.returnCodes). */
  readonly answers: AnswerSettings
  /** IANA zone of dates without one. */
  readonly timeZone: string
  readonly countryPrefix: string
  /** The installation's own rules, for file types that have none. */
  readonly rules: RuleDocuments
}
