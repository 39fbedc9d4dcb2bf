/** Subscribers and accounts. Pure. */
import type {
  AccountProfile,
  Facts,
  Revision,
  SubscribedService,
  SubscriberProfile,
} from '../../domain/catalogue.ts'
import { readAll, readEach } from '../../domain/field-errors.ts'
import {
  arrayAt,
  dateAt,
  FieldError,
  type Fields,
  isEmpty,
  isUnset,
  microsAt,
  objectAt,
  textAt,
  wholeAt,
} from '../../domain/fields.ts'
import { FOREVER_MS, localTime } from '../../domain/time.ts'
import { type AccountDocument, AccountSchema } from '../entities/account.ts'
import { checkSchema } from '../entities/entity.ts'
import { type SubscriberDocument, SubscriberSchema } from '../entities/subscriber.ts'
import { factsOf, LENIENT, type RawDocument, revisionOf } from './document.ts'
import { createInterner } from './interner.ts'
import { overridesAt } from './overrides.ts'

/** Most profiles share these values, which keeps them compact. */
const NO_SERVICES: readonly SubscribedService[] = []
const planNames = createInterner<string>(10_000)

/**
 * The profile without the fields of the account. Throws `FieldError` with the path of the field.
 */
export function compileSubscriber(document: RawDocument, options = LENIENT): SubscriberProfile {
  return compileSubscriberFields(document, () => revisionOf(document as DatedDocument), options)
}

type DatedDocument = RawDocument & { from: Date; to: Date }

/** As `compileSubscriber`, of a revision that is not stored. `revision` is called once checked. */
export function compileSubscriberFields(
  document: Fields,
  revisionIn: () => Revision,
  options = LENIENT,
): SubscriberProfile {
  const subscriber = document as Fields & SubscriberDocument
  const { services, overrides, creditLimit, timeZone } = readAll({
    schema: () => checkSchema(SubscriberSchema, document),
    services: () => servicesAt(subscriber.services, 'services'),
    overrides: () => overridesAt(subscriber.overrides, 'overrides', options),
    creditLimit: () => limitAt(subscriber.credit_limit),
    timeZone: () => zoneAt(subscriber.time_zone, 'time_zone'),
  })
  const revision = revisionIn()
  const activeFromMs = dateAt(subscriber.activation_date, 'activation_date')
  const activeToMs = dateAt(subscriber.deactivation_date, 'deactivation_date')
  return {
    ...revision,
    aid: subscriber.aid,
    sid: subscriber.sid,
    plan: planNames.get(subscriber.plan, () => subscriber.plan),
    barred: subscriber.barred ?? false,
    activeFromMs: activeFromMs ?? 0,
    activeToMs: Math.min(activeToMs ?? FOREVER_MS, FOREVER_MS),
    planFromMs:
      dateAt(subscriber.plan_activation, 'plan_activation') ??
      Math.max(activeFromMs ?? revision.fromMs, revision.fromMs),
    services: services(activeFromMs ?? revision.fromMs),
    accountServices: NO_SERVICES,
    overrides,
    creditLimit,
    accountCreditLimit: null,
    timeZone,
    play: subscriber.play ?? '',
    facts: customFacts(document),
    pool: null,
  }
}

const NO_FACTS: Facts = Object.freeze({})

/** Most subscribers have no further fields. */
function customFacts(document: Fields): Facts {
  const facts = factsOf(document, SubscriberSchema.properties)
  for (const _ in facts) return facts
  return NO_FACTS
}

/** Throws `FieldError` with the path of the field. */
export function compileAccount(document: RawDocument, options = LENIENT): AccountProfile {
  return compileAccountFields(document, () => revisionOf(document as DatedDocument), options)
}

/** As `compileAccount`, of a revision that is not stored. */
export function compileAccountFields(
  document: Fields,
  revisionIn: () => Revision,
  options = LENIENT,
): AccountProfile {
  const account = document as Fields & AccountDocument
  const { services, overrides, creditLimit } = readAll({
    schema: () => checkSchema(AccountSchema, document),
    services: () => servicesAt(account.services, 'services'),
    overrides: () => overridesAt(account.overrides, 'overrides', options),
    creditLimit: () => limitAt(account.credit_limit),
  })
  const revision = revisionIn()
  const activeFromMs = dateAt(account.activation_date, 'activation_date')
  return {
    ...revision,
    aid: account.aid,
    services: services(activeFromMs ?? revision.fromMs),
    overrides,
    creditLimit,
  }
}

/** Adds the fields of the account to the profile of its subscriber. */
export function withAccount(
  subscriber: SubscriberProfile,
  account: AccountProfile | null,
): SubscriberProfile {
  if (account === null) return subscriber
  return {
    ...subscriber,
    // Sessions compare the id, so that a price ends together with the overrides it came from.
    id: account.overrides.length === 0 ? subscriber.id : `${subscriber.id}+${account.id}`,
    accountServices: account.services,
    overrides:
      account.overrides.length === 0
        ? subscriber.overrides
        : [...account.overrides, ...subscriber.overrides],
    accountCreditLimit: account.creditLimit,
  }
}

/** The fields of a subscriber revision that determine the start of its plan. */
export type PlanSpan = Pick<SubscriberProfile, 'plan' | 'fromMs' | 'toMs' | 'planFromMs'>

/**
 * Start of the plan for a revision without `plan_activation`: the start of the first of the
 * contiguous revisions with the same plan.
 */
export function planStart(revision: PlanSpan, others: readonly PlanSpan[]): number {
  let first = revision
  for (;;) {
    const { plan, fromMs } = first
    const before = others.find((other) => other.toMs === fromMs && other.fromMs < fromMs)
    if (before === undefined || before.plan !== plan) return first.planFromMs
    first = before
  }
}

/** Returns the services, given the start of those without a `from`. */
function servicesAt(
  value: unknown,
  path: string,
): (sinceMs: number) => readonly SubscribedService[] {
  if (isEmpty(value)) return () => NO_SERVICES
  const services = readEach(arrayAt(value, path), (entry, index) => {
    const at = `${path}.${index}`
    const service: Fields = typeof entry === 'string' ? { name: entry } : objectAt(entry, at)
    const { service_id: id, quantity } = service
    return readAll({
      name: () => textAt(service['name'], `${at}.name`),
      serviceId: () => (isUnset(id) ? 0 : wholeAt(id, `${at}.service_id`, 0)),
      fromMs: () => dateAt(service['from'], `${at}.from`),
      toMs: () => Math.min(dateAt(service['to'], `${at}.to`) ?? FOREVER_MS, FOREVER_MS),
      quantity: () => (isUnset(quantity) ? 1 : wholeAt(quantity, `${at}.quantity`, 1)),
    })
  })
  return (sinceMs) => services.map((one) => ({ ...one, fromMs: one.fromMs ?? sinceMs }))
}

function limitAt(value: unknown): number | null {
  return isUnset(value) ? null : microsAt(value, 'credit_limit')
}

const knownZones = new Set<string>([''])

/** Empty if there is no zone. Throws `FieldError`. */
export function zoneAt(zone: string | undefined, path: string): string {
  if (zone === undefined || knownZones.has(zone)) return zone ?? ''
  try {
    localTime(zone, 0)
  } catch {
    throw new FieldError(path, `must be a time zone of the IANA database, is '${zone}'`)
  }
  knownZones.add(zone)
  return zone
}
