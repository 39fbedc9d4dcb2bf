import './tokens.css'
import './base.css'
import { render } from 'preact'
import { readSession } from './api/session.ts'
import { Shell } from './frame/shell.tsx'

const app = document.getElementById('app')
if (app !== null) render(<Shell />, app)
void readSession()
