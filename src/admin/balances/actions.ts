/** Balances as a collection of the entity API (spec/entity-api.md 3.6). */
import { randomUUID } from 'node:crypto'
import { type ChangeStores, whileUnchanged } from '../../catalog/chains/change.ts'
import { chainOf } from '../entities/actions/revisions.ts'
import type { OwnActions } from '../entities/api.ts'
import { findBalances } from './find.ts'
import { placeOf } from './live.ts'
import { type BalanceDeps, isNamed } from './loads.ts'
import { deleteBalance } from './remove.ts'
import { updateBalance } from './update.ts'

/** Writes without an operation id get one of their own: repeating them is another operation. */
export function balanceActions(deps: BalanceDeps & ChangeStores): OwnActions {
  return {
    async read({ filter, sort, page, size, project }) {
      const found = await findBalances(deps, filter, { sort, skip: page * size, limit: size })
      return { rows: found.balances.map((one) => projected(one, project)), hasMore: found.hasMore }
    },
    async write(action, { query, update, additional, operationId: given }) {
      const operationId = given ?? `api-${randomUUID()}`
      if (action === 'delete') {
        const { details, line } = await deleteBalance(deps, { id: query['_id'], operationId })
        return { details, entity: null, ...(line && { more: { line } }) }
      }
      const load = () => updateBalance(deps, { query, update, additional, operationId })
      const done = await inItsAccount(deps, query, load)
      return { details: done.details, entity: done.entity, more: { line: done.line } }
    },
  }
}

type Fields = Readonly<Record<string, unknown>>

/**
 * Whom credit is for must not go to another account meanwhile: what was loaded behind a move of the
 * balances would stay where nobody uses it.
 */
async function inItsAccount<T>(
  stores: ChangeStores,
  { sid: named, _id: id }: Fields,
  load: () => Promise<T>,
): Promise<T> {
  const place = isNamed(id) ? await placeOf(stores.catalog, String(id)) : null
  const sid = place?.sid ?? named
  if (!isNamed(sid) || sid === 0) return load()
  return whileUnchanged(stores, [chainOf({ name: 'subscribers' }, Number(sid))], load)
}

/** Whole fields only: a balance is small, and its parts are read together. */
function projected(balance: object, project: Readonly<Record<string, 0 | 1>> | null): Fields {
  if (project === null) return { ...balance }
  const names = Object.entries(project).filter(([name]) => name !== 'revision_info')
  const wanted = names.filter(([, on]) => on === 1).map(([name]) => name.split('.')[0])
  const hidden = new Set(names.filter(([, on]) => on === 0).map(([name]) => name))
  const isListed = wanted.some((name) => name !== '_id')
  const isShown = (name: string) =>
    !hidden.has(name) && (!isListed || wanted.includes(name) || name === '_id')
  return Object.fromEntries(Object.entries(balance).filter(([name]) => isShown(name)))
}
