/**
 * `tollgate check`: finds settings and stored entities that charging cannot use or would misuse.
 */
import { createCategories } from '../admin/settings/categories.ts'
import type { Catalog } from '../catalog/connection.ts'
import { readTaxContext } from '../catalog/feed/stored-taxes.ts'
import { repeatingReads } from '../catalog/repeating-reads.ts'
import { identifyingFields } from '../catalog/settings/customers/identifying-fields.ts'
import { readCategory, readFieldSettings } from '../catalog/settings/stored-config.ts'
import type { Config } from '../config/schema.ts'
import { FieldError } from '../domain/fields.ts'
import type { Numbering } from '../domain/numbering.ts'
import { DEFINITIONS } from '../entities/definitions/collections.ts'
import { fieldsOf } from '../entities/fields/configured.ts'
import { withUnique } from '../entities/fields/current.ts'
import type { TaxContext } from '../rating/price.ts'
import { systemClock } from '../runtime/clock.ts'
import { checkDefaultTax, checkEntities } from './check/entities.ts'
import { checkIdentifiers, type Identifiers } from './check/identifiers.ts'
import { Problems } from './check/problem.ts'
import type { OptionValues } from './options.ts'
import type { Shell } from './shell.ts'
import { patienceIn, withCatalog } from './stores.ts'

/** Returns 1 if there is a problem. Read-only. */
export async function check(shell: Shell, options: OptionValues): Promise<0 | 1> {
  const config = shell.config()
  const problems = new Problems()
  const patience = patienceIn(shell, config)
  await withCatalog(
    config,
    (catalog) => examine(repeatingReads(catalog), config, problems),
    patience,
  )
  const { listed, counts, total } = problems
  if (options['json'] === true) {
    shell.print(JSON.stringify({ ok: total === 0, problems: listed, counts }))
  } else {
    for (const { text } of listed) shell.print(text)
    const left = total - listed.length
    if (left > 0) shell.print(`and ${left} more`)
    shell.print(total === 0 ? 'ok: nothing is wrong' : `${total} problem${total === 1 ? '' : 's'}`)
  }
  return total === 0 ? 0 : 1
}

async function examine(catalog: Catalog, config: Config, problems: Problems): Promise<void> {
  const nowMs = systemClock.nowMs()
  await checkSettings(catalog, config, problems)
  const taxes = await readTaxContext(catalog, config.rating).catch((error: unknown) => {
    // Reported by `checkSettings`.
    if (error instanceof FieldError) return null
    throw error
  })
  if (taxes !== null) checkDefaultTax(taxes as TaxContext, nowMs, problems)
  await checkEntities(catalog, taxes, nowMs, problems)
  await checkIdentifiers(catalog, await identifiers(catalog, config), problems)
}

async function checkSettings(catalog: Catalog, config: Config, problems: Problems): Promise<void> {
  for (const [name, category] of createCategories(config).stored) {
    const { value, rev } = await readCategory(catalog, category.name)
    if (rev === 0) continue
    try {
      category.check(value, value)
    } catch (error) {
      if (!(error instanceof FieldError)) throw error
      const text = `settings ${name}: ${error.message}`
      problems.add({ kind: 'settings', collection: 'config', key: name, text })
    }
  }
}

/** Fields that identify subscribers; those configured as not unique may be shared. */
async function identifiers(catalog: Catalog, config: Config): Promise<Identifiers> {
  const fileTypes = await readCategory(catalog, 'file_types')
  const identifying = identifyingFields(fileTypes.value, config)
  const definition = DEFINITIONS.get('subscribers')
  if (definition === undefined) return { unique: identifying, numberings: new Map() }
  const fields = withUnique(fieldsOf(definition, await readFieldSettings(catalog)), identifying)
  const shared = fields.filter(({ unique }) => unique === false)
  const names = new Set(shared.map(({ field_name: name }) => name))
  const numbers = fields.flatMap(({ field_name: name, numbering }): [string, Numbering][] =>
    numbering === undefined ? [] : [[name, numbering]],
  )
  return {
    unique: identifying.filter((name) => !names.has(name)),
    numberings: new Map(numbers),
  }
}
