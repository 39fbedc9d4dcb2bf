/** Settings that come from files: variables with `_FILE` behind their names. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { childEnvironment } from '../../src/config/child-environment.ts'
import { ConfigError } from '../../src/config/error.ts'
import { loadConfig } from '../../src/config/load.ts'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-config-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
function fileWith(text: string): string {
  files += 1
  const file = join(folder, `${files}.yaml`)
  writeFileSync(file, text)
  return file
}

function problemsOf(options: Parameters<typeof loadConfig>[0]): ConfigError {
  try {
    loadConfig({ env: {}, ...options })
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  throw new Error('the configuration was accepted')
}

describe('a value in a file', () => {
  it('is that of the variable whose name has _FILE behind it', () => {
    const env = {
      TOLLGATE_SECRETS_KEY_FILE: fileWith(' a key, with a comma\n'),
      TOLLGATE_SECRETS_OLD_KEYS_FILE: fileWith('one, old\n\ntwo\r\n'),
      TOLLGATE_REDIS_URL_FILE: fileWith('redis://:s3cret@cache\n'),
      TOLLGATE_CATALOG_POLL_MS_FILE: fileWith('250\n'),
      TOLLGATE_CATALOG_POLL_MS: '',
      TOLLGATE_ADMIN_TLS_CERT_FILE: 'server.pem',
    }
    const { secrets, redis, catalog, admin } = loadConfig({ env })
    expect(secrets).toEqual({ key: 'a key, with a comma', oldKeys: ['one, old', 'two'] })
    expect([redis.url, catalog.pollMs]).toEqual(['redis://:s3cret@cache', 250])
    expect(admin.tls.certFile).toBe('server.pem')
  })

  it('is refused by name where it cannot be read, is wrong, or is given twice', () => {
    const missing = join(folder, 'missing')
    const env = {
      TOLLGATE_SECRETS_KEY_FILE: missing,
      TOLLGATE_CATALOG_POLL_MS_FILE: fileWith('s3cret'),
      TOLLGATE_REDIS_URL_FILE: fileWith('redis://cache'),
      TOLLGATE_REDIS_URL: 'redis://other',
      TOLLGATE_SECRETS_KEYS_FILE: missing,
      TOLLGATE_MONGO_URL_FILE: fileWith('\n'),
      TOLLGATE_SECRETS_OLD_KEYS: 's3cret,s3cret',
    }
    const { message } = problemsOf({ env })
    expect(message).toContain('secrets.key names a file that cannot be read: ENOENT')
    expect(message).toContain('mongo.url names a file that is empty')
    expect(message).toContain('catalog.pollMs must be an integer from 10 to 60000 (what is in the')
    expect(message).toContain('redis.url is given twice, also by TOLLGATE_REDIS_URL')
    expect(message).toContain('TOLLGATE_SECRETS_KEYS_FILE is not a known setting')
    expect(message).toContain('secrets.oldKeys must be a text of at most 1024 characters')
    expect(message).not.toContain('s3cret')
  })

  it('is not handed on to a process that gets another value', () => {
    vi.stubEnv('TOLLGATE_REDIS_URL_FILE', '/run/secrets/redis')
    vi.stubEnv('TOLLGATE_SECRETS_KEY_FILE', '/run/secrets/key')
    const env = childEnvironment({ 'redis.url': 'unix:///run/redis' })
    vi.unstubAllEnvs()
    expect(env['TOLLGATE_REDIS_URL']).toBe('unix:///run/redis')
    expect(env).not.toHaveProperty('TOLLGATE_REDIS_URL_FILE')
    expect(env['TOLLGATE_SECRETS_KEY_FILE']).toBe('/run/secrets/key')
  })
})
