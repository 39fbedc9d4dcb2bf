/** Maps errors of all modules to those that an API shows; others are internal. */
import { BillingError } from '../billing/errors.ts'
import { CallRunningError, KeyReusedError } from '../billing/idempotency.ts'
import { isCustomerSystemAway } from '../billing/run/external-accounts.ts'
import {
  CatalogUnavailableError,
  DuplicateEntityError,
  EntityConflictError,
  ReadCancelledError,
  SlowReadError,
} from '../catalog/errors.ts'
import { CardKeyError } from '../catalog/sealing/card-secrets.ts'
import { FieldError } from '../domain/fields.ts'
import { CustomerSystemError } from '../external/customers/errors.ts'
import { StoreDownError } from '../store/redis.ts'
import {
  ActionError,
  ApiError,
  asActionError,
  DISPLAY,
  EntityRuleError,
  fieldRule,
  RequestError,
} from './errors.ts'

const SORT = DISPLAY.sort

/** Null for an internal error. `mayHaveWritten`: what an unavailable store may have done. */
export function apiErrorOf(error: unknown, mayHaveWritten = true): ApiError | null {
  if (error instanceof ApiError) return error
  if (error instanceof FieldError) {
    return new EntityRuleError(error.message, error.issues)
  }
  if (error instanceof DuplicateEntityError || error instanceof EntityConflictError) {
    return new EntityRuleError(error.message, 'refused')
  }
  if (error instanceof SlowReadError) {
    return new EntityRuleError(
      `the query was stopped after ${error.limitMs} ms: query by the key or an ` +
        'indexed field, or sort by the key',
      'refused',
      DISPLAY.request,
    )
  }
  // The client has disconnected; the status only appears in the log.
  if (error instanceof ReadCancelledError)
    return new RequestError(499, 'the client has disconnected')
  if (error instanceof CatalogUnavailableError) return unavailable('MongoDB', mayHaveWritten)
  if (error instanceof CardKeyError) return new RequestError(503, error.message)
  if (error instanceof StoreDownError) return unavailable('Redis', mayHaveWritten)
  if (error instanceof CustomerSystemError) {
    const { message } = error
    return isCustomerSystemAway(error)
      ? new RequestError(503, message)
      : new EntityRuleError(message, 'refused')
  }
  if (error instanceof Error && /Sort exceeded memory limit/.test(error.message)) {
    return fieldRule(
      'sort:',
      'too many documents to sort: restrict the query, or sort by the key',
      'invalid',
      SORT,
    )
  }
  // MongoDB detects this only when it sorts a document in which both fields are lists.
  if (error instanceof Error && /parallel arrays/.test(error.message)) {
    return fieldRule(
      'sort:',
      'two of the fields are lists, and documents cannot be sorted by both',
      'invalid',
      SORT,
    )
  }
  if (isRefusedRegex(error)) {
    return new RequestError(400, 'query: the store cannot run one of the regular expressions')
  }
  return null
}

function unavailable(store: string, mayHaveWritten: boolean): RequestError {
  const outcome = mayHaveWritten ? 'a write may have been done' : 'the request can be repeated'
  return new RequestError(503, `${store} is unavailable: ${outcome}`)
}

/** 51091: the expression does not compile; 238: the embedded store does not support its syntax. */
const REGEX_CODES: ReadonlySet<unknown> = new Set([51_091, 238])

/**
 * MongoDB uses PCRE, whose versions differ in properties, class names and escapes, so only the
 * store can validate the expression.
 */
function isRefusedRegex(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return REGEX_CODES.has(error.code) && /regular expression/i.test(error.message)
}

/** The error as the action API returns it; null for an internal error. */
export function actionErrorOf(error: unknown, mayHaveWritten = true): ApiError | null {
  if (error instanceof BillingError) return new ActionError(error.message, error.issues)
  if (error instanceof KeyReusedError) return new ActionError(error.message, 'refused')
  if (error instanceof CallRunningError) return new RequestError(503, error.message)
  const found = apiErrorOf(error, mayHaveWritten)
  if (!(found instanceof EntityRuleError)) return found
  return asActionError(found)
}
