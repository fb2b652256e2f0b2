#!/usr/bin/env node
/** The command `foliopipe`: hands the process to `main` and takes its exit code. */
import { main } from './cli/main.js';

process.exitCode = await main(process.argv);
