/** Dependencies of authentication. */
import type { Audit } from '../catalog/audit/audit.ts'
import type { Catalog } from '../catalog/connection.ts'
import type { CurrentSettings } from '../catalog/settings/current-settings.ts'
import type { Config } from '../config/schema.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { ExpiringKeys } from '../store/expiring.ts'

export interface AuthDeps {
  readonly catalog: Catalog
  /** Keys in Redis under `auth:`. */
  readonly keys: ExpiringKeys
  readonly settings: CurrentSettings
  readonly audit: Audit
  /** The real time. */
  readonly clock: Clock
  /** To be shown to users; `clock` by default. */
  readonly installationClock?: Clock
  readonly config: Pick<Config, 'admin' | 'secrets' | 'data' | 'rating' | 'clock'>
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}
