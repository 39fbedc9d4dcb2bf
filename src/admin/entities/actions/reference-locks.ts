/**
 * Locks that keep an entity from being deleted while others start to reference it. A writer takes
 * one of a few locks of each referenced entity, so that many can write concurrently; a delete takes
 * all of them.
 */
import type { Fields } from '../../../domain/fields.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import { entityLockName } from './revisions.ts'

const REFERENCE_LOCK_COUNT = 8

/**
 * Names of the locks of the entities that a document references; accounts are locked exclusively.
 */
export function referenceLockNames({ name }: CollectionDefinition, document: Fields): string[] {
  const { aid, plan, services, include, bucket_group: group } = document
  const part = Number(document['creation_time'] ?? 0) % REFERENCE_LOCK_COUNT
  const used = (collection: string, key: unknown) => {
    return `${entityLockName({ name: collection }, key)}~${part}`
  }
  const serviceLocks = () => namesOf(services).map((service) => used('services', service))
  if (name === 'accounts') return serviceLocks()
  if (name === 'plans') {
    const included = (include as Fields | null | undefined)?.['services']
    return namesOf(included).map((service) => used('services', service))
  }
  if (name === 'autorenew') return group === undefined ? [] : [used('prepaidgroups', group)]
  if (name !== 'subscribers') return []
  const account = aid === undefined ? [] : [entityLockName({ name: 'accounts' }, aid)]
  return [...account, ...(plan === undefined ? [] : [used('plans', plan)]), ...serviceLocks()]
}

const LOCKED_ON_REFERENCE: ReadonlySet<string> = new Set(['plans', 'services', 'prepaidgroups'])

/** Names of all locks under which other documents may start to reference an entity. */
export function referrerLockNames({ name }: CollectionDefinition, key: unknown): string[] {
  if (!LOCKED_ON_REFERENCE.has(name)) return []
  const parts = Array.from({ length: REFERENCE_LOCK_COUNT }, (_, part) => part)
  return parts.map((part) => `${entityLockName({ name }, key)}~${part}`)
}

function namesOf(services: unknown): string[] {
  if (!Array.isArray(services)) return []
  const names = services.map((service: unknown) => {
    return typeof service === 'string' ? service : (service as Fields | null)?.['name']
  })
  return names.filter((name) => typeof name === 'string')
}
