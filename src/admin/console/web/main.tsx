import './tokens.css'
import './base.css'
import { render } from 'preact'
import { readSession, sessionUser } from './api/session.ts'
import { startChoices } from './frame/choices.ts'
import { startKeys } from './frame/keys.ts'
import { startLogin } from './frame/login.tsx'
import { Shell } from './frame/shell.tsx'
import { readNodeZone } from './parts/time.tsx'

startChoices()
startKeys()
startLogin()
const app = document.getElementById('app')
if (app !== null) render(<Shell />, app)
void readSession()
sessionUser.subscribe(() => void readNodeZone())
