/** Set-up of `/api/settings`, where nothing is stored before a case. */
import { expect } from 'vitest'
import type { Category } from '../../../../../src/admin/settings/category.ts'
import { compilePeers } from '../../../../../src/catalog/settings/peers/peers.ts'
import { writeStoredConfig } from '../../../../../src/catalog/settings/stored-config.ts'
import { FieldError, isObject } from '../../../../../src/domain/fields.ts'
import { builtInFileTypes } from '../../../../../src/file-types/built-in.ts'
import { writeEntity } from '../../../catalog/write.ts'
import { NOW_MS, useSettingsServer } from '../../settings/settings-server.ts'
import type { Fields } from '../action-server.ts'
import type { SetUp } from './set-up.ts'
import type { CaseServer, World } from './steps.ts'
import { requireMatch } from './tags.ts'

/** A category with secrets: `password` is never returned, and stays unless it is sent. */
const WITH_SECRETS: Category = {
  name: 'auth',
  about: 'Secrets.',
  readRole: 'admin',
  check(value) {
    if (!isObject(value)) throw new FieldError('auth', 'must be an object')
  },
  view(stored) {
    const { password: _, ...others } = isObject(stored) ? stored : {}
    return others
  },
  merge(value, stored) {
    const password = isObject(stored) ? stored['password'] : undefined
    return password === undefined ? value : { password, ...(value as object) }
  },
}

/** A category whose members are created and ended. */
const WITH_MEMBERS: Category = {
  name: 'shared_secret',
  about: 'Made.',
  readRole: 'admin',
  check: () => undefined,
  view: (stored) => Object.keys(stored as object),
  special: {
    set(stored, data) {
      const { name } = data as { name: string }
      return { value: { ...(stored as object), [name]: 'sealed' }, response: { name, key: 'once' } }
    },
    unset(stored, data) {
      const { [String((data as Fields)['name'])]: gone, ...others } = stored as Fields
      if (gone === undefined) throw new FieldError('shared_secret', 'has none of this name')
      return { value: others, response: true }
    },
  },
}

const TAX = { key: 'REDUCED', description: 'VAT', rate: 0.07 }
const absent = () => {
  throw new Error('the server of settings has none')
}

export function settings(): SetUp {
  const api = useSettingsServer([WITH_SECRETS, WITH_MEMBERS], {
    TOLLGATE_SECRETS_KEY: 'a key of at least thirty-two characters',
    TOLLGATE_EXTERNAL_PRIVATE_RANGES: '127.0.0.0/8',
  })
  const ask: CaseServer['ask'] = async (_name, params, { role, as } = {}) => {
    const answer = await api.ask(params, {
      ...(role !== undefined && { role }),
      json: as === 'json',
    })
    const text = JSON.stringify(answer)
    return { ...(answer as unknown as Fields), http: answer.http, text, headers: answer.headers }
  }
  const { catalog } = api
  const refused = async (params: Fields, ...parts: readonly string[]) => {
    const message = await api.refused(params)
    for (const part of parts) expect(message).toContain(part)
  }
  const server = { ask, catalog, now: () => NOW_MS, at: absent, ledger: absent, mongo: absent }
  const [builtIn] = builtInFileTypes().values()
  return {
    server,
    variablesOf: () => ({ builtIn }),
    verbs: {
      async set(_world: World, category: string, data: unknown, expected = {}, more = {}) {
        requireMatch(await api.ok({ action: 'set', category, data, ...more }), expected, category)
      },
      async unset(_world: World, category: string, more: Fields = {}) {
        await api.ok({ action: 'unset', category, ...more })
      },
      async get(_world: World, category: string, expected: Fields, more: Fields = {}) {
        requireMatch(await api.get(category, more), expected, category)
      },
      /** A value is refused with these texts, and nothing is stored. */
      no: (_world: World, category: string, data: unknown, ...parts: string[]) =>
        refused({ action: 'set', category, data }, ...parts),
      refused: (_world: World, params: Fields, ...parts: string[]) => refused(params, ...parts),
      greater: (_world: World, one: number, other: number) => expect(one).toBeGreaterThan(other),
      /** Stores a value as a process does, unchecked. */
      put: (_world: World, category: 'peers', value: unknown) =>
        writeStoredConfig(catalog(), category, () => value, { nowMs: 0, by: 'cli' }),
      /** The network elements that charging knows. */
      async peers(_world: World, ...names: string[]) {
        const found = await catalog().config.findOne({ _id: 'peers' })
        expect(compilePeers(found?.value).all.map(({ name }) => name)).toEqual(names)
      },
      tax: (_world: World, fields: Fields) => {
        const options = { mode: 'insert', timeZone: 'UTC' } as const
        return writeEntity(catalog(), 'taxes', { ...TAX, ...fields }, options)
      },
    },
  }
}
