/** The declaration of an action of `/api`: one file per action, one row in table.ts. */

import type { Readable } from 'node:stream'
import { type Static, type TObject, type TOptional, type TSchema, Type } from '@sinclair/typebox'
import type { CustomerLookup } from '../../billing/customer-lookup.ts'
import type { LiveCatalogue } from '../../billing/quote/live-catalogue.ts'
import type { Actor } from '../../catalog/actor.ts'
import type { Audit } from '../../catalog/audit/audit.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { Role } from '../../catalog/entities/api.ts'
import { integer, type Members, type ValuesOf } from '../../catalog/entities/json-schema.ts'
import type { Config } from '../../config/schema.ts'
import type { EntityApi } from '../../entities/api.ts'
import type { ActionName } from '../../entities/definitions/definition.ts'
import type { CheckFileType } from '../../file-types/check-report.ts'
import type { RouteAccess } from '../../identity/access.ts'
import type { Intake } from '../../intake/open-intake.ts'
import type { CycleParts } from '../../jobs/cycle/cycle.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { CardGuesses } from '../../prepaid/cards/guesses.ts'
import type { ReportParts } from '../../reports/parts.ts'
import type { AnsweredIssue } from '../../requests/errors.ts'
import type { JsonLimits } from '../../requests/json-limits.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import type { CustomerChange } from '../../store/customer-changes.ts'
import type { Payments } from '../payments.ts'
import { type CastOptions, castParameters, param } from './parameters.ts'

/** Limit on the header `Idempotency-Key`. */
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255

/** Stores and settings that actions use. */
export interface ActionStores {
  readonly catalog: Catalog
  readonly ledger: Ledger
  readonly audit: Audit
  readonly clock: Clock
  readonly config: Config
  readonly log: Pick<Logger, 'warn' | 'error'>
  /** Limits attempts at secrets of prepaid cards; absent on a server without Redis. */
  readonly cardGuesses?: CardGuesses | undefined
  /** Charges and cards. */
  readonly payments: Payments
  /** Executes calls of the entity API on behalf of the caller. */
  readonly entityApi: EntityApi
  /** Runs of the billing cycle; absent on a server without them. */
  readonly cycle?: CycleParts | undefined
  /** Customers of a customer system. */
  readonly lookup: CustomerLookup
  /** Announces a change in the customer system to workers; absent on a server without Redis. */
  readonly customerChanged?: ((change: CustomerChange) => Promise<void>) | undefined
  readonly reports: ReportParts
  /** The catalogue of quotes. */
  readonly liveCatalogue: LiveCatalogue
  /** Decodes messages; absent on a server without the formats of charging. */
  readonly checkFileType?: CheckFileType | undefined
  /** Charges usage records; absent on a server without charging. */
  readonly intake?: (() => Promise<Pick<Intake, 'charge' | 'resubmit'>>) | undefined
}

/** One call of an action. */
export interface ActionCall extends ActionStores {
  readonly actor: Actor
  readonly nowMs: number
  /** Address at which the caller has reached this server. */
  readonly baseUrl: string
  /** `Idempotency-Key` of an action that moves no money, passed on to the entity API; else null. */
  readonly operationId: string | null
  /** Whether the caller may do another action, by the rules of the operator or its usual roles. */
  readonly permits: Permits
  /** Aborted when the client disconnects before the answer is complete. */
  readonly signal?: AbortSignal | undefined
}

export type Permits = (action: {
  readonly collection: string
  readonly name: string
  readonly usual: readonly string[]
}) => Promise<boolean>

/**
 * Members of the answer after `input`, in their order. `status` 1 and `desc` `success` are added
 * unless given.
 */
export type ActionAnswer = Readonly<Record<string, unknown>> & { readonly [FILE]?: AnswerFile }

type OptionalIn<A extends Members> = {
  [K in keyof A]: A[K] extends TOptional<TSchema> ? K : never
}[keyof A]

/** An answer with the declared members. */
export type AnswerOf<A extends Members> =
  | (ValuesOf<A, OptionalIn<A>> & Omit<Envelope, keyof A>)
  | FileAnswer

type Envelope = {
  readonly status?: 1
  readonly desc?: string
  /** With `status` 0; the text in `desc` by default. */
  readonly errors?: readonly AnsweredIssue[]
}
type FileAnswer = { readonly [FILE]: AnswerFile }

/** Member of an answer that is a file instead of JSON; not for actions that move money. */
export const FILE = Symbol('file')

export interface AnswerFile {
  /** Bytes, or a stream of them that is read as fast as the client receives them. */
  readonly bytes: Buffer | Readable
  readonly mediaType: string
  /** Letters, digits, `-`, `_` and `.` only. */
  readonly fileName: string
  /** `attachment` by default. */
  readonly disposition?: 'inline'
  /** Whether pages of this server may show it in a frame. */
  readonly isFramed?: boolean
}

/** Results of a part of a call that commits in several transactions. */
export type PartResults = readonly unknown[]

/** Runs the writes of a part and stores its results in one transaction. */
export type CommitPart = (
  what: string,
  write: (session: ClientSession) => Promise<PartResults>,
) => Promise<PartResults>

/** A call that moves money. Its transactions also write the answer for its idempotency key. */
export interface MoneyCall extends ActionCall {
  /** Identifies the call while its key is kept; empty without a key. */
  readonly callId: string
  /**
   * Runs the writes and stores the answer in one transaction; `write` may be called again. The
   * result must be the result of the action. With `aids`, the accounts whose books it needs, the
   * transaction is shared with other calls (billing/money-group.ts).
   */
  commit<T extends ActionAnswer>(
    what: string,
    write: (session: ClientSession) => Promise<T>,
    aids?: readonly number[],
  ): Promise<T>
  /**
   * Like `commit`, for a part of the call; a repetition of an interrupted call gets the stored
   * results of its finished parts, for which `run` is not called. `run` calls `commit` once.
   */
  commitPart(part: number, run: (commit: CommitPart) => Promise<PartResults>): Promise<PartResults>
}

/** `status` of an action that may refuse in a form of its own. */
export const DONE_OR_FAILED = param.optional(
  integer('1: success; 0: nothing was done.', { enum: [0, 1] }),
)

export type ActionFamily = 'api' | 'billrun' | 'admin'

export type Level = 'read' | 'write' | 'admin'

/** An action of the entity API. */
export interface EntityAction {
  readonly collection: string
  readonly action: ActionName
}

export interface ActionExample {
  /** Parameters of the call. */
  readonly parameters: Readonly<Record<string, unknown>>
  /** The answer, without `input`. */
  readonly answer: ActionAnswer
}

interface Declaration<P extends TObject, A extends Members> {
  /** Name in the path, in lower case. */
  readonly name: string
  /** Further paths at which it is served. */
  readonly paths?: readonly string[]
  /** First part of the path; `api` if absent. Names are unique within a family. */
  readonly family?: ActionFamily
  /** Usual role of the callers, or several of which one is needed; `admin` is always sufficient. */
  readonly level: Level | readonly Role[]
  /** Actions of the entity API that the call executes: the caller needs their permissions, too. */
  entityActions?(raw: RawParameters): readonly EntityAction[]
  /** One sentence for the OpenAPI document and the table of permissions. */
  readonly about: string
  /** Whether it may be sent by GET; false by default. */
  readonly isReadByGet?: true
  /** Polled by pages: does not extend the login session. */
  readonly isPassive?: true
  /** A call by GET writes; callers with a session cookie must then use POST. */
  readonly writesByGet?: true
  readonly parameters: P
  /** Further members of the answer by name; `status`, `desc` and `input` are added. */
  readonly answer: A
  readonly example: ActionExample
  /** Media types of files that it may answer instead of JSON. */
  readonly files?: readonly string[]
  /** Limits on the body, if it may be larger than usual. */
  readonly body?: { readonly bytesMax: number; readonly json: JsonLimits }
  /** Parameters that `input` does not return: they are too long, or have secrets. */
  readonly notEchoed?: readonly string[] | ((raw: RawParameters) => readonly string[])
}

export interface ReadDeclaration<P extends TObject, A extends Members> extends Declaration<P, A> {
  run(parameters: Static<P>, call: ActionCall): Promise<AnswerOf<A>>
}

export interface MoneyDeclaration<P extends TObject, A extends Members> extends Declaration<P, A> {
  /** Whether a call is kept as with a key even if it has none, so that its progress can be read. */
  isTracked?(raw: RawParameters): boolean
  /**
   * Another operation of the action, with its own parameters; null for the usual one. May refuse
   * the parameters.
   */
  variant?(raw: RawParameters, call: MoneyCall): Promise<AnswerOf<A>> | null
  /**
   * A file to be sent in place of the answer, which a repetition of the call gets too; null for the
   * answer itself. Must not reject: the money has moved.
   */
  fileOf?(raw: RawParameters, answer: ActionAnswer, call: ActionCall): Promise<AnswerFile | null>
  run(parameters: Static<P> & { readonly reason?: string }, call: MoneyCall): Promise<AnswerOf<A>>
}

/** An action of any parameters, as the routes and the documentation use it. */
export interface Action extends Omit<Declaration<TObject, Members>, 'level' | 'roles'> {
  readonly access: RouteAccess & readonly string[]
  /** Whether it moves money: it takes `Idempotency-Key` and `reason`. */
  readonly isMoney: boolean
  isTracked?(raw: RawParameters): boolean
  fileOf?(raw: RawParameters, answer: ActionAnswer, call: ActionCall): Promise<AnswerFile | null>
  /** Casts the parameters and runs the action. Rejects with `ApiError`. */
  call(raw: RawParameters, call: MoneyCall): Promise<ActionAnswer>
}

/** All paths at which an action is served. */
export function pathsOf({
  family = 'api',
  name,
  paths = [],
}: Pick<Action, 'family' | 'name' | 'paths'>): readonly string[] {
  return [`/${family}/${name}`, ...paths]
}

function rolesOf(level: Level | readonly Role[]): readonly Role[] {
  return typeof level === 'string' ? [level] : level
}

/** An action that moves no money. */
export function action<P extends TObject, const A extends Members>(
  declaration: ReadDeclaration<P, A>,
): Action {
  const { level, run, ...rest } = declaration
  return {
    ...rest,
    access: rolesOf(level),
    isMoney: false,
    call: (raw, call) => run(castParameters(rest.parameters, raw, castOptions(rest, call)), call),
  }
}

/** The parameter that every money action takes. */
export const REASON = {
  reason: param.optional(
    param.text('Why the money moves; kept in the audit record and in the record of the money.'),
  ),
}

/** An action that moves money. */
export function moneyAction<P extends TObject, const A extends Members>(
  declaration: MoneyDeclaration<P, A>,
): Action {
  const { level, run, variant, ...rest } = declaration
  const parameters = Type.Object({ ...rest.parameters.properties, ...REASON })
  return {
    ...rest,
    parameters,
    access: rolesOf(level),
    isMoney: true,
    async call(raw, call) {
      const other = variant?.(raw, call) ?? null
      if (other !== null) return other
      const cast = castParameters(parameters, raw, castOptions(rest, call))
      return run(cast as Static<P> & { reason?: string }, call)
    },
  }
}

/** Context of casts of a call. */
export function castOptions(
  { body }: Pick<Action, 'body'>,
  { config, nowMs }: ActionCall,
): CastOptions {
  const time = { timeZone: config.rating.timeZone, nowMs }
  return body === undefined ? time : { ...time, limits: body.json }
}
