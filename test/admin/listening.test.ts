import { describe, expect, it } from 'vitest'
import { AdminListenError, checkListening } from '../../src/admin/listening.ts'
import { CatalogUnavailableError } from '../../src/catalog/errors.ts'
import { loadConfig } from '../../src/config/load.ts'

const ANYWHERE = { TOLLGATE_ADMIN_HOST: '0.0.0.0' }
const generated = async () => true
const changed = async () => false

const check = (env: Record<string, string>, hasGeneratedPassword: () => Promise<boolean>) =>
  checkListening({ config: loadConfig({ env }), hasGeneratedPassword })

describe('where others reach it, the control plane', () => {
  it.each(['0.0.0.0', '::', '192.168.1.1', 'node-1'])(
    'does not listen on %s with a generated password, and says what to do',
    async (host) => {
      const refused = check({ TOLLGATE_ADMIN_HOST: host }, generated)
      await expect(refused).rejects.toThrow(AdminListenError)
      const { message } = (await refused.catch((error) => error)) as Error
      expect(message).toContain('a user still has a generated password')
      for (const way of ['Change that password', 'admin.tls', 'admin.generatedPassword: network']) {
        expect(message).toContain(way)
      }
    },
  )

  it('does not listen if the passwords cannot be checked', async () => {
    const away = async () => {
      throw new CatalogUnavailableError('read users', new Error('SECRET'))
    }
    const refused = check(ANYWHERE, away)
    await expect(refused).rejects.toThrow(AdminListenError)
    await expect(refused).rejects.toThrow(/MongoDB is unavailable: .* admin\.tls/)
    await expect(refused).rejects.not.toThrow(/SECRET/)
  })

  it('reports a defect as itself', async () => {
    const defect = check(ANYWHERE, async () => {
      throw new TypeError('defect')
    })
    await expect(defect).rejects.toThrow(TypeError)
  })

  it.each<[why: string, env: Record<string, string>, has: () => Promise<boolean>]>([
    ['the password was changed', {}, changed],
    [
      'TLS is configured',
      {
        TOLLGATE_ADMIN_TLS_ENABLED: 'true',
        TOLLGATE_ADMIN_TLS_CERT_FILE: 'a',
        TOLLGATE_ADMIN_TLS_KEY_FILE: 'b',
      },
      generated,
    ],
    [
      'generated passwords are allowed there',
      { TOLLGATE_ADMIN_GENERATED_PASSWORD: 'network' },
      generated,
    ],
    ['no login is required', { TOLLGATE_ADMIN_OPEN_TO: 'network' }, generated],
  ])('listens if %s', async (_, env, has) => {
    await expect(check({ ...ANYWHERE, ...env }, has)).resolves.toBeUndefined()
  })

  it('does not listen if it is open to loopback only', async () => {
    const env = { ...ANYWHERE, TOLLGATE_ADMIN_OPEN_TO: 'loopback' }
    await expect(check(env, generated)).rejects.toThrow(AdminListenError)
  })
})

describe('on loopback, the control plane', () => {
  it.each(['127.0.0.1', '::1', 'localhost'])('listens on %s without a check', async (host) => {
    const never = async () => {
      throw new Error('asked')
    }
    await expect(check({ TOLLGATE_ADMIN_HOST: host }, never)).resolves.toBeUndefined()
  })
})
