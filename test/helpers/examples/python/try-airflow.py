"""Runs the task of the DAG file at each exit code, with stand-ins for Airflow. Prints what each one raises, as JSON."""

import json
import os
import runpy
import sys
import types


class AirflowException(Exception):
    pass


class AirflowFailException(AirflowException):
    pass


tasks = {}


class Task:
    def __init__(self, name):
        self.name = name

    def __rshift__(self, other):
        return other


def bash_operator(*, task_id, bash_command, cwd):
    return tasks.setdefault(task_id, Task(task_id))


def task(**settings):
    def decorate(function):
        tasks[function.__name__] = function
        return lambda: Task(function.__name__)

    return decorate


def dag(**settings):
    return lambda function: function


class Connection:
    def __init__(self, uri, host, password):
        self.host, self.password, self.get_uri = host, password, lambda: uri

    @staticmethod
    def get(conn_id):
        return {
            "foliopipe": Connection("", "https://predictions.example.com", "s3cret"),
            "analytics": Connection("postgres://etl:pa55@localhost/analytics", "localhost", "pa55"),
        }[conn_id]


def module(name, **names):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(names)


module("pendulum", datetime=lambda *args, **kwargs: None)
module("airflow.sdk.exceptions", AirflowException=AirflowException, AirflowFailException=AirflowFailException)
module("airflow.providers.standard.operators.bash", BashOperator=bash_operator)
module("airflow.sdk", Connection=Connection, dag=dag, task=task)
runpy.run_path(sys.argv[1])

outcomes = {}
for code in sys.argv[2:]:
    os.environ["CODE"] = code
    try:
        outcomes[code] = ["returns", tasks["enrich"]()]
    except AirflowException as error:
        outcomes[code] = [type(error).__name__, str(error)]
print(json.dumps(outcomes))
