/** The uWebSockets.js apps of one port: with TLS one more for each new certificate. */
import type { TemplatedApp } from 'uWebSockets.js'
import { DEFAULT_CIPHERS } from '../../config/tls.ts'
import { readTlsFiles, TlsFileError, type TlsFiles } from '../../runtime/tls-files.ts'
import { startTls, TlsFollower, type TlsListener } from '../../runtime/tls-reload.ts'
import { type HttpTls, type ListenOptions, tlsListener } from './listening.ts'

export type Uws = typeof import('uWebSockets.js')

/** These methods are missing in the library's types. */
export type App = TemplatedApp & {
  close(): void
  getDescriptor(): unknown
  /** From now on accepted connections are passed to the app with this descriptor. */
  addChildAppDescriptor(descriptor: unknown): void
  removeChildAppDescriptor(descriptor: unknown): void
}

export interface Apps {
  /** The app that listens. */
  readonly first: App
  /** Closes all apps with their connections. */
  close(): void
}

/** `addRoutes` is called for each app. Throws `TlsFileError`. */
export function createApps(uws: Uws, options: ListenOptions, addRoutes: (app: App) => void): Apps {
  const { tls } = options
  if (tls === null) {
    const first = uws.App() as App
    addRoutes(first)
    return { first, close: () => first.close() }
  }
  const listener = tlsListener(tls, options)
  const files = startTls(listener)
  const appOf = (checked: TlsFiles) => {
    const app = createSecureApp(uws, tls, listener, checked)
    addRoutes(app)
    return app
  }
  const first = appOf(files)
  const apps = [first]
  // The library cannot change the certificate of an app. So the listening app passes accepted
  // connections to one with the new certificate; open connections stay where they are.
  const follower = new TlsFollower(listener, files, (changed) => {
    const next = appOf(changed)
    first.addChildAppDescriptor(next.getDescriptor())
    const before = apps.at(-1)
    if (before !== undefined && before !== first) {
      first.removeChildAppDescriptor(before.getDescriptor())
    }
    apps.push(next)
  })
  return {
    first,
    close() {
      follower.close()
      for (const app of apps) app.close()
    },
  }
}

/** The library reads the files itself, and does not report what is wrong with them. */
function createSecureApp(
  uws: Uws,
  tls: HttpTls,
  { section, settings }: TlsListener,
  checked: TlsFiles,
): App {
  // Cipher suites of TLS 1.3 cannot be configured there.
  const ciphers = (tls.ciphers.length === 0 ? DEFAULT_CIPHERS : tls.ciphers).filter(
    (name) => !name.startsWith('TLS_'),
  )
  let app: App
  try {
    app = uws.SSLApp({
      cert_file_name: tls.certFile,
      key_file_name: tls.keyFile,
      ssl_ciphers: ciphers.join(':'),
    }) as App
  } catch {
    throw new TlsFileError(`${section}.certFile ${tls.certFile} is refused by uWebSockets.js`)
  }
  if (readTlsFiles(section, settings).fingerprint === checked.fingerprint) return app
  app.close()
  throw new TlsFileError(`${section}.certFile ${tls.certFile} has changed while it was read`)
}
