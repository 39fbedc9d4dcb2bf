import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { childEnvironment } from '../../src/config/child-environment.ts'
import { nodeEnvironment, systemEnvironment } from '../../src/config/environment.ts'

const system = {
  PATH: '/bin',
  HOME: '/root',
  TZ: 'UTC',
  LANG: 'C.UTF-8',
  LC_ALL: 'C',
  TMPDIR: '/var/tmp',
  LD_LIBRARY_PATH: '/opt/lib',
  MALLOC_ARENA_MAX: '2',
}
const node = { NODE_ENV: 'production', NODE_OPTIONS: '--x', UV_THREADPOOL_SIZE: '8' }
const settings = { TOLLGATE_SECRETS_KEY: 'k', TOLLGATE_CONFIG: 'a.yaml', TOLLGATE_MONGO_URL: 'm' }
const others = {
  AWS_SECRET_ACCESS_KEY: 's',
  GITHUB_TOKEN: 't',
  SSH_AUTH_SOCK: '/s',
  MYPATH: '/x',
  NPM_TOKEN: 'n',
  DATABASE_URL: 'd',
  NODE: '/bin/node',
  npm_config_registry: 'r',
}
const env = { ...system, ...node, ...settings, ...others }

describe('the environment of a child process', () => {
  it('contains locations only, for an external program', () => {
    expect(systemEnvironment(env)).toEqual(system)
  })

  it('also contains the variables that Node reads, for a process of the product', () => {
    expect(nodeEnvironment(env)).toEqual({ ...system, ...node })
  })

  it('contains the settings, except those that are replaced', () => {
    const given = { 'mongo.url': 'unix', 'realtime.port': 8181 }
    expect(childEnvironment(given, 'b.yaml', env)).toEqual({
      ...system,
      ...node,
      ...settings,
      TOLLGATE_CONFIG: resolve('b.yaml'),
      TOLLGATE_MONGO_URL: 'unix',
      TOLLGATE_REALTIME_PORT: '8181',
    })
    expect(childEnvironment({}, undefined, env)).toEqual({ ...system, ...node, ...settings })
  })
})
